/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_PROCESS_LIST_H
#define CEEMS_GPU_PROCESS_LIST_H

#include <stdint.h>

#include "lib/records/child_msg.h"

struct device;

/* The processes on a device, those that have just ended too. Of the device's thread. */
struct process_list {
	uint32_t count, left_out;
	uint64_t now_ns; /* boot time of the reading that fills it */
	struct child_gpu_process item[CHILD_GPU_PROCESSES_MAX]; /* ascending */
};

/* Begins a reading: now_ns, and left_out is 0. */
void process_list_begin(struct process_list *l);
/* Puts it into its place, or joins it with what is there of it. Returns where it is;
 * NULL: there is no room. */
struct child_gpu_process *process_list_add(struct process_list *l,
					   const struct child_gpu_process *p);
/* By pid, gi and ci. NULL: it is not there. */
struct child_gpu_process *process_list_find(struct process_list *l,
					    const struct child_gpu_process *key);
/* Ends a reading: what was not seen has ended, and is forgotten after a while. */
void process_list_end(struct process_list *l);
/* Tells ceemsd. */
void process_list_send(const struct process_list *l, const struct device *d);

#endif
