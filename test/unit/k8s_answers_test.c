/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kubelet and the API server say of pods, as JSON and as protobuf. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/api_json.h"
#include "contrib/k8s/grpc_unix.h"
#include "contrib/k8s/kubelet.pb-c.h"
#include "contrib/k8s/pod_json.h"
#include "contrib/k8s/pod_proto.h"
#include "lib/http/pod_size.h"
#include "test/unit/unit.h"

#define UID "3f1d2c7a-0000-4000-8000-00000000002a"
#define HASH "0123456789abcdef0123456789abcdef"
#define META(more)                                                                     \
	"\"metadata\":{\"name\":\"web-0\",\"namespace\":\"team\",\"uid\":\"" UID       \
	"\",\"resourceVersion\":\"77\"" more "}"
#define POD(type, more) "{\"type\":\"" type "\",\"object\":{" META("") more "}}"

static struct err err;
static struct pod_event event;
static struct api_event head; /* of it, where it is the API server's */

static int take_event(int rc)
{
	struct pod_info info;

	if (rc == 0 && head.object)
		rc = pod_json_read(head.object, &info, &err);
	if (rc < 0)
		return rc;
	event.type = head.type;
	if (head.object)
		event.info = info;
	api_event_done(&head);
	return 0;
}

static int read_event(const char *text)
{
	int rc = api_json_event(text, strlen(text), &head, &err);

	rc = take_event(rc);
	api_event_done(&head);
	return rc;
}

static uint64_t quantity(const char *s)
{
	uint64_t v = 12345;

	return pod_quantity(s, strlen(s), &v) ? v : UINT64_MAX;
}

static void quantities_are_kubernetes(void **state)
{
	(void)state;
	assert_true(quantity("100m") == 100);
	assert_true(quantity("1") == 1000);
	assert_true(quantity("0.1") == 100);
	assert_true(quantity(".5") == 500);
	assert_true(quantity("1.") == 1000);
	assert_true(quantity("1n") == 1); /* rounded up */
	assert_true(quantity("0.00000000000000000000000001") == 1);
	assert_true(quantity("0") == 0);
	assert_true(quantity("1e3") == 1000000);
	assert_true(quantity("1E-3") == 1);
	assert_true(quantity("2e+1") == 20000);
	assert_true(quantity("32Mi") == (32ull << 20) * 1000);
	assert_true(quantity("0.5Ki") == 512000);
	assert_true(quantity("1E") == 1000000000000000000ull * 1000 ||
		    quantity("1E") == UINT64_MAX); /* too large for thousandths */
	static const char *const wrong[] = {"",
					    "m",
					    "-1",
					    "+1",
					    "1 ",
					    "1x",
					    "Ki",
					    "1KiB",
					    "1e",
					    "1e-",
					    "1ee",
					    "0x10",
					    "1..2",
					    "1.2.3",
					    "NaN",
					    "1e9999",
					    "1e99",
					    "99999999999999999999",
					    "9999999999Ei",
					    "1m1",
					    "."};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (quantity(wrong[i]) != UINT64_MAX)
			fail_msg("%s: a quantity", wrong[i]);
	}
}

static void events_of_a_watch_are_read(void **state)
{
	(void)state;
	assert_int_equal(
		read_event(POD("ADDED", ",\"status\":{\"phase\":\"Running\"}")), 0);
	assert_int_equal(event.type, API_EVENT_CHANGED);
	assert_string_equal(head.version, "77");
	assert_string_equal(event.info.uid, UID);
	assert_string_equal(event.info.namespace, "team");
	assert_string_equal(event.info.name, "web-0");
	assert_false(event.info.finished);
	assert_int_equal(
		read_event(POD("MODIFIED", ",\"status\":{\"phase\":\"Failed\"}")), 0);
	assert_true(event.info.finished && event.info.failed);
	assert_int_equal(read_event(POD("DELETED", "")), 0);
	assert_int_equal(event.type, API_EVENT_DELETED);
	assert_int_equal(read_event("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
				    "\"resourceVersion\":\"99\"}}}"),
			 0);
	assert_int_equal(event.type, API_EVENT_BOOKMARK);
	assert_string_equal(head.version, "99");
	assert_int_equal(
		read_event("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
			   "\"code\":410}}"),
		0);
	assert_int_equal(event.type, API_EVENT_ERROR);
	assert_int_equal(head.code, 410);
}

static void wrong_events_change_nothing(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"",
		"{}",
		"[]",
		"{\"type\":\"ADDED\"}",
		"{\"type\":\"OTHER\",\"object\":{}}",
		"{\"type\":1,\"object\":{" META("") "}}",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a/b\","
		"\"namespace\":\"team\",\"uid\":\"" UID "\"}}}",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\\nb\","
		"\"namespace\":\"team\",\"uid\":\"" UID "\"}}}",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
		"\"namespace\":\"team\",\"uid\":\"../../x\"}}}",
		POD("ADDED", "") "x",
	};

	event.type = API_EVENT_ERROR;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err.text[0] = '\0';
		if (read_event(wrong[i]) == 0 || !err.text[0])
			fail_msg("%s: taken", wrong[i]);
	}
	assert_int_equal(event.type, API_EVENT_ERROR);
}

/* What the scheduler counts, with what the status says after a resize in place. */
static void size_is_what_the_pod_requests(void **state)
{
	(void)state;
	assert_int_equal(
		read_event(POD(
			"ADDED",
			",\"spec\":{\"containers\":["
			"{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"250m\","
			"\"memory\":\"32Mi\"},\"limits\":{\"cpu\":\"1\"}}},"
			"{\"name\":\"b\",\"resources\":{\"limits\":{\"cpu\":\"0.5\","
			"\"memory\":\"64Mi\",\"nvidia.com/gpu\":\"1\"}}},"
			"{\"name\":\"c\"}]},"
			"\"status\":{\"containerStatuses\":[{\"name\":\"a\","
			"\"resources\":{\"requests\":{\"cpu\":\"400m\"}}}]}")),
		0);
	assert_int_equal(event.info.cpu_milli, 900);
	assert_int_equal(event.info.memory_bytes, 96 << 20);
	/* an init container that needs more, after a sidecar */
	assert_int_equal(
		read_event(POD(
			"ADDED",
			",\"spec\":{\"overhead\":{\"cpu\":\"10m\"},\"containers\":[{"
			"\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
			"\"initContainers\":[{\"name\":\"s\",\"restartPolicy\":"
			"\"Always\","
			"\"resources\":{\"requests\":{\"cpu\":\"100m\"}}},{\"name\":"
			"\"i\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}")),
		0);
	assert_int_equal(event.info.cpu_milli, 2110);
	/* of the pod as a whole */
	assert_int_equal(
		read_event(
			POD("ADDED",
			    ",\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"3\"}},"
			    "\"containers\":[{\"name\":\"a\",\"resources\":{"
			    "\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}")),
		0);
	assert_int_equal(event.info.cpu_milli, 3000);
	assert_int_equal(event.info.memory_bytes, 1 << 30);
}

static void mirror_of_a_static_pod_has_the_uid_of_its_group(void **state)
{
	(void)state;
#define NOTES(mirror, hash)                                                            \
	"{\"type\":\"ADDED\",\"object\":{" META(                                       \
		",\"annotations\":{\"kubernetes.io/config.mirror\":\"" mirror          \
		"\",\"kubernetes.io/config.hash\":\"" hash "\"}") "}}"
	assert_int_equal(read_event(NOTES(HASH, HASH)), 0);
	assert_string_equal(event.info.uid, HASH);
	/* an ordinary pod cannot take another one's UID */
	assert_int_equal(read_event(NOTES(UID "x", UID "x")), 0);
	assert_string_equal(event.info.uid, UID);
	assert_int_equal(read_event(NOTES(HASH, "")), 0);
	assert_string_equal(event.info.uid, UID);
}

static void list_is_cut_into_its_pods(void **state)
{
	(void)state;
	static const char text[] =
		"{ \"kind\": \"PodList\", \"metadata\": {\"resourceVersion\": \"5\", "
		"\"x\": {}},\n \"items\": [ {" META(
			",\"labels\":{\"}{\":\"\\\"[{\"}") "}, {" META("") "}\n]}\n";
	struct api_json_cut c = {0};
	char version[API_VERSION_SIZE] = "";
	unsigned pods = 0;
	bool metadata = false;

	api_json_cut_reset(&c, true);
	for (const char *p = text; *p; p++) {
		if (!api_json_cut(&c, *p, &metadata))
			continue;
		if (metadata)
			assert_int_equal(api_json_version(c.text.data, c.text.len,
							  version, &err),
					 0);
		else
			assert_int_equal(take_event(api_json_item(
						 c.text.data, c.text.len, &head, &err)),
					 0);
		pods += !metadata;
	}
	assert_int_equal(pods, 2);
	assert_string_equal(version, "5");
	api_json_cut_reset(&c, false);
	unsigned events = 0;
	static const char watch[] = POD("ADDED", "") "\n" POD("DELETED", "") "\n";
	for (const char *p = watch; *p; p++)
		events += api_json_cut(&c, *p, &metadata);
	assert_int_equal(events, 2);
	buf_done(&c.text);
}

/* ---- protobuf -------------------------------------------------------------------- */

static unsigned char packed[4096];

static size_t pack_event(Kubelet__WatchEvent__Type type, Kubelet__Pod *pod)
{
	static unsigned char inner[2048];
	Kubelet__WatchEvent e = KUBELET__WATCH_EVENT__INIT;

	e.type = type;
	if (pod) {
		e.pod.len = kubelet__pod__pack(pod, inner);
		e.pod.data = inner;
	}
	return kubelet__watch_event__pack(&e, packed);
}

#define DIGITS(digit)                                                                  \
	digit "1111111111111111111111111111111111111111111111111111111"                \
	      "11111111"
#define ID(digit) "containerd://" DIGITS(digit)

static void check_container(uint32_t i, char digit, const char *name, int exit_code)
{
	const struct pod_container *c = &event.info.containers[i];

	assert_true(i < event.info.container_count);
	assert_int_equal(c->id[0], digit);
	assert_string_equal(c->name, name);
	assert_int_equal(c->ended, exit_code >= 0);
	assert_int_equal(c->exit_code, exit_code >= 0 ? exit_code : 0);
}

/* A container that was restarted has the one before as its last state. */
static void containers_of_statuses_are_read(void **state)
{
	(void)state;
	assert_int_equal(
		read_event(POD(
			"MODIFIED",
			",\"status\":{\"initContainerStatuses\":[{\"name\":\"init\","
			"\"containerID\":\"" ID(
				"a") "\",\"state\":{\"terminated\":{"
				     "\"exitCode\":0,\"containerID\":\"" ID(
					     "a") "\"}}}],"
						  "\"containerStatuses\":[{\"name\":"
						  "\"main\",\"containerID\":\"" ID(
							  "c") "\",\"state\":{"
							       "\"running\":{}},"
							       "\"lastState\":{"
							       "\"terminated\":{"
							       "\"exitCode\":137,"
							       "\"containerID\":\"" ID(
								       "b") "\"}}},{"
									    "\"name\":"
									    "\"waits\","
									    "\"state\":"
									    "{\"waiting"
									    "\":{}}}],"
									    "\"ephemera"
									    "lContainer"
									    "Statuses\""
									    ":[{"
									    "\"name\":"
									    "\"debug\","
									    "\"containe"
									    "rID\":"
									    "\"" ID("d") "\"}]}")),
		0);
	assert_int_equal(event.info.container_count, 4);
	check_container(0, 'a', "init", 0);
	check_container(1, 'b', "main", 137);
	check_container(2, 'c', "main", -1);
	check_container(3, 'd', "debug", -1);
	assert_int_equal(
		read_event(POD("ADDED", ",\"status\":{\"containerStatuses\":[1,"
					"{},{\"name\":7,\"containerID\":{}}]}")),
		0);
	assert_int_equal(event.info.container_count, 0);
}

static void containers_of_kubelet_are_read(void **state)
{
	(void)state;
	char n1[] = "main", n2[] = "debug", id1[] = ID("a"), id2[] = ID("b"),
	     name[] = "web-0", namespace[] = "team", uid[] = UID;
	Kubelet__Terminated t = KUBELET__TERMINATED__INIT;
	Kubelet__ContainerState last = KUBELET__CONTAINER_STATE__INIT;
	Kubelet__ContainerStatus one = KUBELET__CONTAINER_STATUS__INIT,
				 two = KUBELET__CONTAINER_STATUS__INIT,
				 *ones[] = {&one}, *twos[] = {&two};
	Kubelet__Status status = KUBELET__STATUS__INIT;
	Kubelet__Metadata meta = KUBELET__METADATA__INIT;
	Kubelet__Pod pod = KUBELET__POD__INIT;

	t.exit_code = 3;
	t.id = id1;
	last.terminated = &t;
	one.name = n1;
	one.last_state = &last;
	two.name = n2;
	two.id = id2;
	status.n_containers = status.n_ephemeral_containers = 1;
	status.containers = ones;
	status.ephemeral_containers = twos;
	meta.name = name;
	meta.namespace_ = namespace;
	meta.uid = uid;
	pod.metadata = &meta;
	pod.status = &status;
	size_t len = pack_event(KUBELET__WATCH_EVENT__TYPE__MODIFIED, &pod);
	assert_int_equal(pod_proto_event(packed, len, &event, &err), 0);
	assert_int_equal(event.info.container_count, 2);
	check_container(0, 'a', "main", 3);
	check_container(1, 'b', "debug", -1);
}

static void pods_of_kubelet_are_read(void **state)
{
	(void)state;
	Kubelet__Quantity cpu = KUBELET__QUANTITY__INIT;
	Kubelet__Amount amount = KUBELET__AMOUNT__INIT, *amounts[] = {&amount};
	Kubelet__Resources resources = KUBELET__RESOURCES__INIT;
	Kubelet__Container container = KUBELET__CONTAINER__INIT,
			   *containers[] = {&container};
	Kubelet__Spec spec = KUBELET__SPEC__INIT;
	Kubelet__Status status = KUBELET__STATUS__INIT;
	Kubelet__Metadata meta = KUBELET__METADATA__INIT;
	Kubelet__Pod pod = KUBELET__POD__INIT;
	char n1[] = "cpu", n2[] = "1500m", n3[] = "web-0", n4[] = "team", n5[] = HASH,
	     n6[] = "Succeeded", n7[] = "c";

	cpu.text = n2;
	amount.key = n1;
	amount.value = &cpu;
	resources.n_requests = 1;
	resources.requests = amounts;
	container.name = n7;
	container.resources = &resources;
	spec.n_containers = 1;
	spec.containers = containers;
	status.phase = n6;
	meta.name = n3;
	meta.namespace_ = n4;
	meta.uid = n5;
	pod.metadata = &meta;
	pod.spec = &spec;
	pod.status = &status;
	size_t len = pack_event(KUBELET__WATCH_EVENT__TYPE__ADDED, &pod);
	assert_int_equal(pod_proto_event(packed, len, &event, &err), 0);
	assert_int_equal(event.type, API_EVENT_CHANGED);
	assert_string_equal(event.info.uid, HASH);
	assert_string_equal(event.info.namespace, "team");
	assert_int_equal(event.info.cpu_milli, 1500);
	assert_true(event.info.finished && !event.info.failed);
	for (size_t cut = 0; cut < len; cut++) /* never a crash */
		(void)pod_proto_event(packed, cut, &event, &err);

	/* "only the pod name, namespace, and UID are guaranteed to be set" */
	pod.spec = NULL;
	pod.status = NULL;
	len = pack_event(KUBELET__WATCH_EVENT__TYPE__DELETED, &pod);
	assert_int_equal(pod_proto_event(packed, len, &event, &err), 0);
	assert_int_equal(event.type, API_EVENT_DELETED);
	len = pack_event(KUBELET__WATCH_EVENT__TYPE__INITIAL_SYNC_COMPLETE, NULL);
	assert_int_equal(pod_proto_event(packed, len, &event, &err), 0);
	assert_int_equal(event.type, API_EVENT_BOOKMARK);
	assert_true(pod_proto_event(packed, 0, &event, &err) < 0);
}

/* 1 MiB of empty structures would be more than 64 MiB of ours. */
static void message_that_grows_in_memory_is_refused(void **state)
{
	(void)state;
	size_t len = 2 << 20;
	unsigned char *data = malloc(len);

	assert_non_null(data);
	for (size_t i = 0; i < len; i += 2) {
		data[i] = 0x0a; /* field 1: a message */
		data[i + 1] = 0;
	}
	err.text[0] = '\0';
	assert_true(pod_proto_devices(data, len, NULL, NULL, NULL, &err) < 0);
	assert_non_null(strstr(err.text, "too large"));
	free(data);
}

static struct pod_devices seen;
static unsigned seen_count;

static void see_devices(void *arg, const struct pod_devices *d)
{
	(void)arg;
	seen = *d;
	seen.name = seen.namespace = NULL;
	seen_count++;
}

/* kubelet's list: pods[0] has these containers, the others are as they are. */
static void read_device_list(const struct gpu_names *gpus, Kubelet__PodResources **pods,
			     size_t pod_count, Kubelet__ContainerResources **cs,
			     size_t count)
{
	static char name[] = "web-0", space[] = "team";
	Kubelet__PodList all = KUBELET__POD_LIST__INIT;

	pods[0]->name = name;
	pods[0]->namespace_ = space;
	pods[0]->containers = cs;
	pods[0]->n_containers = count;
	all.pods = pods;
	all.n_pods = pod_count;
	size_t len = kubelet__pod_list__pack(&all, packed);
	assert_int_equal(pod_proto_devices(packed, len, gpus, see_devices, NULL, &err),
			 0);
}

static void devices_are_taken_by_resource(void **state)
{
	(void)state;
	char mig_names[] = "nvidia.com/mig-", gpu_name[] = "nvidia.com/gpu",
	     *names[] = {gpu_name, mig_names};
	const struct conf_list resources = {.items = names, .count = 2}, none = {0};
	const struct gpu_names gpus = {.resources = &resources, .drivers = &none};
	char gpu[] = "nvidia.com/gpu", mig[] = "nvidia.com/mig-1g.5gb",
	     other[] = "example.com/nic", id0[] = "GPU-0001::0", id1[] = "GPU-0001::1",
	     id2[] = "MIG-0002", id3[] = "eth0";
	char *shared[] = {id0, id1}, *instance[] = {id2}, *nic[] = {id3};
	Kubelet__Devices d[3] = {KUBELET__DEVICES__INIT, KUBELET__DEVICES__INIT,
				 KUBELET__DEVICES__INIT};
	Kubelet__Devices *list[] = {&d[0], &d[1], &d[2]};
	Kubelet__ContainerResources c = KUBELET__CONTAINER_RESOURCES__INIT,
				    *cs[] = {&c};
	Kubelet__PodResources pod = KUBELET__POD_RESOURCES__INIT,
			      empty = KUBELET__POD_RESOURCES__INIT,
			      *pods[] = {&pod, &empty};

	d[0].resource = gpu;
	d[0].ids = shared;
	d[0].n_ids = 2;
	d[1].resource = mig;
	d[1].ids = instance;
	d[1].n_ids = 1;
	d[2].resource = other;
	d[2].ids = nic;
	d[2].n_ids = 1;
	c.devices = list;
	c.n_devices = 3;
	seen_count = 0;
	read_device_list(&gpus, pods, 2, cs, 1);
	assert_int_equal(seen_count, 1);
	assert_int_equal(seen.count, 2); /* two replicas of one GPU are that GPU */
	assert_string_equal(seen.devices[0].uuid, "GPU-0001");
	assert_int_equal(seen.devices[0].share_permille, 0); /* how much: not known */
	assert_string_equal(seen.devices[1].uuid, "MIG-0002");
	assert_int_equal(seen.devices[1].share_permille, 1000);
}

/* Both containers of a pod have the claim, of which one driver's device is no GPU. */
static void devices_of_claims_are_taken_by_driver(void **state)
{
	(void)state;
	char wanted[] = "gpu.example.com", *names[] = {wanted};
	const struct conf_list drivers = {.items = names, .count = 1}, none = {0};
	struct gpu_names gpus = {
		.resources = &none, .drivers = &drivers, .slices = slices_new()};
	char driver[] = "gpu.example.com", other[] = "nic.example.com", pool[] = "n1",
	     g0[] = "gpu-0", g1[] = "gpu-1";
	Kubelet__ClaimDevice d[3] = {KUBELET__CLAIM_DEVICE__INIT,
				     KUBELET__CLAIM_DEVICE__INIT,
				     KUBELET__CLAIM_DEVICE__INIT};
	Kubelet__ClaimDevice *list[] = {&d[0], &d[1], &d[2]};
	Kubelet__Claim claim = KUBELET__CLAIM__INIT, *claims[] = {&claim};
	Kubelet__ContainerResources c = KUBELET__CONTAINER_RESOURCES__INIT,
				    *cs[] = {&c, &c};
	Kubelet__PodResources pod = KUBELET__POD_RESOURCES__INIT,
			      *pods[] = {&pod, &pod};

	assert_non_null(gpus.slices);
	for (size_t i = 0; i < 3; i++)
		d[i] = (Kubelet__ClaimDevice){.base = d[i].base,
					      .driver = i == 1 ? other : driver,
					      .pool = pool,
					      .device = i == 2 ? g1 : g0};
	claim.devices = list;
	claim.n_devices = 3;
	c.claims = claims;
	c.n_claims = 1;
	seen_count = 0;
	read_device_list(&gpus, pods, 1, cs, 2);
	assert_int_equal(seen_count, 1);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.devices[0].uuid, "gpu.example.com/n1/gpu-0");
	assert_string_equal(seen.devices[1].uuid, "gpu.example.com/n1/gpu-1");
	assert_int_equal(seen.devices[1].share_permille, 1000);
	/* another pod has it, too: how much is not known */
	read_device_list(&gpus, pods, 2, cs, 2);
	assert_int_equal(seen_count, 3);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.devices[1].share_permille, 0);
	slices_free(gpus.slices);
}

/* ---- the runtime ----------------------------------------------------------------- */

static struct pod_info runtime_pods[4];
static unsigned runtime_pod_count;

static void see_runtime_pod(void *arg, const struct pod_info *info)
{
	(void)arg;
	assert_true(runtime_pod_count < 4);
	runtime_pods[runtime_pod_count++] = *info;
}

/* In any order, beside those that kubelet has not made. */
static void containers_of_the_runtime_are_read_by_pod(void **state)
{
	(void)state;
	char uid_key[] = "io.kubernetes.pod.uid", name_key[] = "io.kubernetes.pod.name",
	     space_key[] = "io.kubernetes.pod.namespace", uid[] = UID, hash[] = HASH,
	     web[] = "web-0", fixed[] = "static-n1", space[] = "team", c1[] = "main",
	     c2[] = "debug", wrong[] = "../x";
	char *of[][3] = {{uid, web, space},
			 {hash, fixed, space},
			 {uid, web, space},
			 {wrong, web, space}};
	char ids[][66] = {DIGITS("a"), DIGITS("b"), DIGITS("c"), DIGITS("d")};
	char *names[] = {c1, c1, c2, c2}, *keys[] = {uid_key, name_key, space_key};
	Kubelet__Annotation labels[4][3], *lists[4][3];
	Kubelet__RuntimeMetadata metadata[4];
	Kubelet__RuntimeContainer c[5], *all[5];
	Kubelet__RuntimeList list = KUBELET__RUNTIME_LIST__INIT;

	for (size_t i = 0; i < 4; i++) {
		kubelet__runtime_container__init(&c[i]);
		kubelet__runtime_metadata__init(&metadata[i]);
		metadata[i].name = names[i];
		c[i].metadata = &metadata[i];
		c[i].id = ids[i];
		for (size_t k = 0; k < 3; k++) {
			kubelet__annotation__init(&labels[i][k]);
			labels[i][k].key = keys[k];
			labels[i][k].value = of[i][k];
			lists[i][k] = &labels[i][k];
		}
		c[i].labels = lists[i];
		c[i].n_labels = 3;
		all[i] = &c[i];
	}
	kubelet__runtime_container__init(&c[4]); /* of nobody */
	all[4] = &c[4];
	list.containers = all;
	list.n_containers = 5;
	size_t len = kubelet__runtime_list__pack(&list, packed);
	runtime_pod_count = 0;
	assert_int_equal(pod_proto_containers(packed, len, see_runtime_pod, NULL, &err),
			 0);
	assert_int_equal(runtime_pod_count, 2);
	assert_string_equal(runtime_pods[0].uid, HASH);
	assert_string_equal(runtime_pods[0].name, "static-n1");
	assert_int_equal(runtime_pods[0].container_count, 1);
	assert_string_equal(runtime_pods[1].uid, UID);
	assert_string_equal(runtime_pods[1].namespace, "team");
	event.info = runtime_pods[1];
	assert_int_equal(event.info.container_count, 2);
	bool first = event.info.containers[0].id[0] == 'a';
	check_container(first ? 0 : 1, 'a', "main", -1);
	check_container(first ? 1 : 0, 'c', "debug", -1);
	for (size_t cut = 0; cut < len; cut++) { /* never a crash */
		runtime_pod_count = 0;
		(void)pod_proto_containers(packed, cut, see_runtime_pod, NULL, &err);
	}
	err.text[0] = '\0';
	assert_int_equal(pod_proto_containers((const unsigned char *)"\x0a\xff", 2,
					      see_runtime_pod, NULL, &err),
			 -EBADMSG);
	assert_true(err.text[0]);
}

/* ---- gRPC ------------------------------------------------------------------------ */

static size_t messages, message_bytes;

static bool count_message(void *arg, const unsigned char *data, size_t len)
{
	(void)data;
	messages++;
	message_bytes += len;
	return !arg;
}

static void messages_of_grpc_come_in_any_pieces(void **state)
{
	(void)state;
	static const unsigned char body[] = {0, 0, 0, 0, 3, 'a', 'b', 'c', 0,  0,
					     0, 0, 0, 0, 0, 0,   0,   1,   'd'};
	const struct grpc_call call = {.message_max = 3, .message = count_message};

	for (size_t piece = 1; piece <= sizeof(body); piece++) {
		struct grpc_body b = {0};
		messages = message_bytes = 0;
		for (size_t i = 0; i < sizeof(body); i += piece) {
			size_t n = sizeof(body) - i < piece ? sizeof(body) - i : piece;
			assert_int_equal(grpc_body_take(&b, &call, body + i, n), 0);
		}
		assert_int_equal(messages, 3);
		assert_int_equal(message_bytes, 4);
		grpc_body_done(&b);
	}
}

static void messages_too_long_or_compressed_are_refused(void **state)
{
	(void)state;
	static const unsigned char too_long[] = {0, 0xff, 0xff, 0xff, 0xff},
				   compressed[] = {1, 0, 0, 0, 1, 'a'},
				   one[] = {0, 0, 0, 0, 1, 'a'};
	struct grpc_call call = {.message_max = 3, .message = count_message};
	struct grpc_body b = {0};

	assert_int_equal(grpc_body_take(&b, &call, too_long, 5), -EFBIG);
	grpc_body_done(&b);
	assert_int_equal(grpc_body_take(&b, &call, compressed, 6), -EPROTO);
	grpc_body_done(&b);
	call.arg = &b; /* the callee has enough */
	assert_int_equal(grpc_body_take(&b, &call, one, 6), -ECANCELED);
	grpc_body_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities_are_kubernetes),
		cmocka_unit_test(events_of_a_watch_are_read),
		cmocka_unit_test(wrong_events_change_nothing),
		cmocka_unit_test(size_is_what_the_pod_requests),
		cmocka_unit_test(mirror_of_a_static_pod_has_the_uid_of_its_group),
		cmocka_unit_test(list_is_cut_into_its_pods),
		cmocka_unit_test(pods_of_kubelet_are_read),
		cmocka_unit_test(containers_of_statuses_are_read),
		cmocka_unit_test(containers_of_kubelet_are_read),
		cmocka_unit_test(message_that_grows_in_memory_is_refused),
		cmocka_unit_test(devices_are_taken_by_resource),
		cmocka_unit_test(devices_of_claims_are_taken_by_driver),
		cmocka_unit_test(containers_of_the_runtime_are_read_by_pod),
		cmocka_unit_test(messages_of_grpc_come_in_any_pieces),
		cmocka_unit_test(messages_too_long_or_compressed_are_refused),
	};

	return cmocka_run_group_tests_name("k8s_answers", tests, NULL, NULL);
}
