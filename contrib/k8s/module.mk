# SPDX-License-Identifier: GPL-2.0-or-later

# libk8swatch: ceems-k8s without its main, for tests
HAVE_K8S := $(and $(HAVE_YAML),$(HAVE_CURL),$(HAVE_JSON),$(HAVE_NGHTTP2),$(HAVE_PROTOBUF_C))
ifneq ($(HAVE_K8S),)
ARCHIVES += libk8swatch
libk8swatch_PKGS := libnghttp2 libprotobuf-c libcurl json-c yaml-0.1
libk8swatch_LIBS := libadapter libhttp libconf
libk8swatch_CFLAGS := -I$(BUILD)
libk8swatch_SRCS += contrib/k8s/api_json.c
libk8swatch_SRCS += contrib/k8s/api_watch.c
libk8swatch_SRCS += contrib/k8s/container_tree.c
libk8swatch_SRCS += contrib/k8s/containers.c
libk8swatch_SRCS += contrib/k8s/device_name.c
libk8swatch_SRCS += contrib/k8s/group_file.c
libk8swatch_SRCS += contrib/k8s/group_index.c
libk8swatch_SRCS += contrib/k8s/grpc_unix.c
libk8swatch_SRCS += contrib/k8s/kubelet.c
libk8swatch_SRCS += contrib/k8s/pod_info.c
libk8swatch_SRCS += contrib/k8s/pod_json.c
libk8swatch_SRCS += contrib/k8s/pod_proto.c
libk8swatch_SRCS += contrib/k8s/pod_tree.c
libk8swatch_SRCS += contrib/k8s/pods.c
libk8swatch_SRCS += contrib/k8s/slices.c
libk8swatch_SRCS += $(BUILD)/contrib/k8s/kubelet.pb-c.c
$(OBJ)/contrib/k8s/pod_proto.o $(OBJ)/pic/contrib/k8s/pod_proto.o: $(BUILD)/contrib/k8s/kubelet.pb-c.c
$(BUILD)/contrib/k8s/kubelet.pb-c.c: contrib/k8s/kubelet.proto
	$(call say,PROTOC,$<)mkdir -p $(@D) && $(PROTOC_C) --c_out=$(@D) -Icontrib/k8s $<

PROGS += ceems-k8s
ceems-k8s_SRCS := contrib/k8s/main.c contrib/k8s/options.c contrib/k8s/watch.c
ceems-k8s_LIBS := libk8swatch libadapter libhttp libconf libbase
ceems-k8s_PKGS := $(libk8swatch_PKGS)
endif
