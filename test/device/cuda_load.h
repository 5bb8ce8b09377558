/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_DEVICE_CUDA_LOAD_H
#define CEEMS_TEST_DEVICE_CUDA_LOAD_H

#include <stddef.h>

/* A kernel of known size on a device, by CUDA's driver API and PTX: no toolkit. */
struct cuda_load {
	unsigned sm_count;
	/* private */
	void *function, *stream, *event[2];
	unsigned long long out;
	double per_ms; /* turns of its loop */
};

/* uuid: of the device, as NVML tells it. Negative: why says what is missing. */
int cuda_load_open(struct cuda_load *l, const char *uuid, char *why, size_t size);
/* Starts blocks of 1024 threads, one per multiprocessor as long as there are as many,
 * that work for about ms. */
int cuda_load_start(struct cuda_load *l, unsigned blocks, unsigned ms);
/* Milliseconds that they took, by the device's own events; negative: they failed. */
double cuda_load_wait(struct cuda_load *l);

#endif
