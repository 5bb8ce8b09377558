/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_FAKE_NVML_MACHINE_H
#define CEEMS_TEST_FAKE_NVML_MACHINE_H

/* What the two halves of the made-up library share. */
#define EXPORT __attribute__((visibility("default")))
#define DEVICES 64
#define INSTANCES 8
#define PROCESSES 16
#define VGPUS 16

enum {
	OK = 0,
	UNINITIALIZED = 1,
	INVALID = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	TOO_SMALL = 7,
	TIMEOUT = 10,
	LOST = 15
};

struct fake_instance {
	unsigned int gi, ci, slices, ci_slices, busy;
	unsigned long long used_mib;
};
struct fake_process {
	unsigned int pid, busy, gi;
	unsigned long long used_mib;
};
struct fake_vgpu {
	unsigned int id, gi, busy; /* gi 0: none */
	unsigned long long used_mib, size_mib;
	char vm[48]; /* "" or a UUID, or a number */
};
struct fake_device {
	int there, error, dead, lost, mig, gpm, accounting;
	unsigned long long milliwatts, add_mj, refresh_ms, used_mib;
	unsigned int busy, hang_s, xid;
	unsigned int module_watts; /* of the module that it is on; 0: none */
	unsigned int uuid;         /* another one's number plus 1; 0: its own */
	int nameless;              /* it has no UUID */
	unsigned int instance_count, process_count, vgpu_count;
	struct fake_instance instance[INSTANCES];
	struct fake_process process[PROCESSES];
	struct fake_vgpu vgpu[VGPUS];
	/* of a handle: it is this instance's; else NULL */
	const struct fake_instance *self;
};

/* The device, or instance of one, as it is now, after it has hung as long as it should.
 * caller: the entry point, which NVML_FAKE_FAIL="NAME=CODE" lets fail. */
int find_device(void *handle, struct fake_device *ret, const char *caller);
int fault(const char *caller);
/* The n-th device as the machine has it now, NULL: there is none; it never hangs. */
const struct fake_device *look_at_device(unsigned int n);
unsigned long long now_us(void);

#endif
