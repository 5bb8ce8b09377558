/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: "CUDA Driver API" (docs.nvidia.com/cuda/cuda-driver-api), declared anew. */
#include "test/device/cuda_load.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define THREADS 1024u
#define FIRST_TURNS 200000u
#define SM_COUNT_ATTRIBUTE 16 /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */

/* Four chains of multiply and add per thread. What it computes is written only if it is
 * what it never is, so that nothing can be left out. */
static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry burn(.param .u64 turns, .param .u64 out)\n{\n"
	".reg .pred %p<3>;\n.reg .f32 %f<8>;\n.reg .u64 %rd<5>;\n"
	"ld.param.u64 %rd1, [turns];\nld.param.u64 %rd2, [out];\n"
	"mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f3F800010;\n"
	"mov.f32 %f3, 0f3F800020;\nmov.f32 %f4, 0f3F800030;\n"
	"mov.f32 %f5, 0f3F7FFFF0;\nmov.f32 %f6, 0f33800000;\n"
	"again:\n"
	"fma.rn.f32 %f1, %f1, %f5, %f6;\nfma.rn.f32 %f2, %f2, %f5, %f6;\n"
	"fma.rn.f32 %f3, %f3, %f5, %f6;\nfma.rn.f32 %f4, %f4, %f5, %f6;\n"
	"sub.u64 %rd1, %rd1, 1;\nsetp.ne.u64 %p1, %rd1, 0;\n@%p1 bra again;\n"
	"add.f32 %f1, %f1, %f2;\nadd.f32 %f3, %f3, %f4;\nadd.f32 %f1, %f1, %f3;\n"
	"setp.eq.f32 %p2, %f1, 0fC2F60000;\n@%p2 st.global.f32 [%rd2], %f1;\n"
	"ret;\n}\n";

static struct cuda_api {
	int (*init)(unsigned flags);
	int (*count)(int *ret);
	int (*get)(int *ret, int index);
	int (*uuid)(unsigned char ret[16], int device);
	int (*attribute)(int *ret, int which, int device);
	int (*retain)(void **ret, int device);
	int (*set_current)(void *context);
	int (*load)(void **ret, const void *image);
	int (*function)(void **ret, void *module, const char *name);
	int (*alloc)(unsigned long long *ret, size_t bytes);
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		      unsigned by, unsigned bz, unsigned shared, void *stream,
		      void **params, void **extra);
	int (*event)(void **ret, unsigned flags);
	int (*record)(void *event, void *stream);
	int (*wait)(void *event);
	int (*elapsed)(float *ret_ms, void *from, void *to);
} cuda;

static int find_cuda(char *why, size_t size)
{
	static const struct {
		const char *name;
		size_t at;
	} names[] = {
		{"cuInit", offsetof(struct cuda_api, init)},
		{"cuDeviceGetCount", offsetof(struct cuda_api, count)},
		{"cuDeviceGet", offsetof(struct cuda_api, get)},
		{"cuDeviceGetUuid", offsetof(struct cuda_api, uuid)},
		{"cuDeviceGetAttribute", offsetof(struct cuda_api, attribute)},
		{"cuDevicePrimaryCtxRetain", offsetof(struct cuda_api, retain)},
		{"cuCtxSetCurrent", offsetof(struct cuda_api, set_current)},
		{"cuModuleLoadData", offsetof(struct cuda_api, load)},
		{"cuModuleGetFunction", offsetof(struct cuda_api, function)},
		{"cuMemAlloc_v2", offsetof(struct cuda_api, alloc)},
		{"cuLaunchKernel", offsetof(struct cuda_api, launch)},
		{"cuEventCreate", offsetof(struct cuda_api, event)},
		{"cuEventRecord", offsetof(struct cuda_api, record)},
		{"cuEventSynchronize", offsetof(struct cuda_api, wait)},
		{"cuEventElapsedTime", offsetof(struct cuda_api, elapsed)},
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		(void)snprintf(why, size, "no libcuda.so.1");
		return -1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = dlsym(library, names[i].name);
		if (!found) {
			(void)snprintf(why, size, "libcuda.so.1 has no %s",
				       names[i].name);
			return -1;
		}
		memcpy((char *)&cuda + names[i].at, &found, sizeof(found));
	}
	return 0;
}

/* NVML: "GPU-" and the 16 bytes in hex with dashes */
static int is_cuda_device(int device, const char *uuid)
{
	unsigned char b[16];
	char text[48] = "GPU-";
	size_t n = 4;

	if (cuda.uuid(b, device) != 0)
		return 0;
	for (unsigned i = 0; i < 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x",
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				      b[i]);
	return strcmp(text, uuid) == 0;
}

static int find_cuda_device(const char *uuid, int *ret)
{
	int count = 0;

	if (cuda.init(0) != 0 || cuda.count(&count) != 0)
		return -1;
	for (int i = 0; i < count; i++) {
		if (cuda.get(ret, i) == 0 && is_cuda_device(*ret, uuid))
			return 0;
	}
	return -1;
}

int cuda_load_open(struct cuda_load *l, const char *uuid, char *why, size_t size)
{
	void *context = NULL, *module = NULL;
	int device = 0, sms = 0;

	*l = (struct cuda_load){0};
	if (find_cuda(why, size) < 0)
		return -1;
	if (find_cuda_device(uuid, &device) < 0) {
		(void)snprintf(why, size, "CUDA does not show the device");
		return -1;
	}
	if (cuda.attribute(&sms, SM_COUNT_ATTRIBUTE, device) != 0 ||
	    cuda.retain(&context, device) != 0 || cuda.set_current(context) != 0 ||
	    cuda.load(&module, ptx) != 0 ||
	    cuda.function(&l->function, module, "burn") != 0 ||
	    cuda.alloc(&l->out, 16) != 0 || cuda.event(&l->event[0], 0) != 0 ||
	    cuda.event(&l->event[1], 0) != 0) {
		(void)snprintf(why, size, "CUDA cannot load a kernel");
		return -1;
	}
	l->sm_count = (unsigned)sms;
	l->per_ms = FIRST_TURNS;
	/* how fast it is: once to warm up */
	for (unsigned i = 0; i < 2; i++) {
		double took = cuda_load_start(l, l->sm_count, i ? 20 : 1) < 0
				      ? -1
				      : cuda_load_wait(l);
		if (took <= 0) {
			(void)snprintf(why, size, "CUDA cannot run a kernel");
			return -1;
		}
		l->per_ms *= (i ? 20 : 1) / took;
	}
	return 0;
}

int cuda_load_start(struct cuda_load *l, unsigned blocks, unsigned ms)
{
	uint64_t turns = (uint64_t)(l->per_ms * ms) + 1;
	void *params[] = {&turns, &l->out};

	if (cuda.record(l->event[0], l->stream) != 0 ||
	    cuda.launch(l->function, blocks ? blocks : 1, 1, 1, THREADS, 1, 1, 0,
			l->stream, params, NULL) != 0 ||
	    cuda.record(l->event[1], l->stream) != 0)
		return -1;
	return 0;
}

double cuda_load_wait(struct cuda_load *l)
{
	float ms = -1;

	if (cuda.wait(l->event[1]) != 0 ||
	    cuda.elapsed(&ms, l->event[0], l->event[1]) != 0)
		return -1;
	return ms;
}
