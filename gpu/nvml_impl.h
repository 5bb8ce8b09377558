/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_NVML_IMPL_H
#define CEEMS_GPU_NVML_IMPL_H

#include <stddef.h>

#include "gpu/nvml.h"

/* Shared by gpu/nvml*.c: the library's entry points. Those that a release lacks are
 * NULL, and what they tell is absent. */
struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error)(int rc);
	int (*driver_version)(char *text, unsigned size);
	int (*count)(unsigned *ret);
	int (*handle)(unsigned index, nvml_device *ret);
	int (*uuid)(nvml_device d, char *text, unsigned size);
	int (*name)(nvml_device d, char *text, unsigned size);
	int (*pci)(nvml_device d, struct nvml_pci *ret);
	int (*minor)(nvml_device d, unsigned *ret);
	int (*mig)(nvml_device d, unsigned *now, unsigned *pending);
	int (*energy)(nvml_device d, unsigned long long *mj);
	int (*power)(nvml_device d, unsigned *mw);
	int (*limit)(nvml_device d, unsigned *mw);
	int (*utilization)(nvml_device d, struct nvml_utilization *ret);
	int (*memory)(nvml_device d, struct nvml_memory *ret);
	int (*memory_v2)(nvml_device d, struct nvml_memory_v2 *ret);
	int (*temperature)(nvml_device d, unsigned sensor, unsigned *ret);
	int (*clock)(nvml_device d, unsigned type, unsigned *mhz);
	/* gpu/nvml_more.c */
	int (*threshold)(nvml_device d, unsigned type, unsigned *ret);
	int (*cores)(nvml_device d, unsigned *ret);
	int (*capability)(nvml_device d, int *major, int *minor);
	int (*encoder)(nvml_device d, unsigned *percent, unsigned *period_us);
	int (*decoder)(nvml_device d, unsigned *percent, unsigned *period_us);
	int (*reasons)(nvml_device d, unsigned long long *ret);
	int (*violation)(nvml_device d, unsigned policy, struct nvml_violation *ret);
	int (*ecc)(nvml_device d, unsigned type, unsigned counter,
		   unsigned long long *ret);
	int (*rows)(nvml_device d, unsigned *corrected, unsigned *uncorrected,
		    unsigned *pending, unsigned *failed);
	int (*replays)(nvml_device d, unsigned *ret);
	int (*fields)(nvml_device d, int count, struct nvml_field *values);
	int (*samples)(nvml_device d, unsigned type, unsigned long long last_seen,
		       unsigned *value_type, unsigned *count, struct nvml_sample *ret);
	/* gpu/nvml_mig.c */
	int (*mig_count)(nvml_device d, unsigned *ret);
	int (*mig_handle)(nvml_device d, unsigned index, nvml_device *ret);
	int (*gi_id)(nvml_device d, unsigned *ret);
	int (*ci_id)(nvml_device d, unsigned *ret);
	int (*attributes)(nvml_device d, struct nvml_attributes *ret);
	int (*gi_profile)(nvml_device d, unsigned profile, struct nvml_gi_profile *ret);
	/* gpu/nvml_gpm.c */
	int (*gpm_support)(nvml_device d, struct nvml_gpm_support *ret);
	int (*gpm_alloc)(nvml_gpm_sample *ret);
	int (*gpm_free)(nvml_gpm_sample s);
	int (*gpm_sample)(nvml_device d, nvml_gpm_sample s);
	int (*gpm_mig_sample)(nvml_device d, unsigned gi, nvml_gpm_sample s);
	int (*gpm_metrics)(struct nvml_gpm_metrics *m);
	/* gpu/nvml_process.c */
	int (*compute)(nvml_device d, unsigned *count, struct nvml_process *ret);
	int (*graphics)(nvml_device d, unsigned *count, struct nvml_process *ret);
	int (*mps)(nvml_device d, unsigned *count, struct nvml_process *ret);
	int (*process_use)(nvml_device d, struct nvml_process_use *ret, unsigned *count,
			   unsigned long long last_seen);
	int (*accounting_mode)(nvml_device d, unsigned *ret);
	int (*set_accounting)(nvml_device d, unsigned mode);
	int (*accounting)(nvml_device d, unsigned pid, struct nvml_accounting *ret);
	/* gpu/nvml_vgpu.c */
	int (*vgpus)(nvml_device d, unsigned *count, unsigned *ret);
	int (*vgpu_vm)(unsigned id, char *text, unsigned size, unsigned *ret_type);
	int (*vgpu_used)(unsigned id, unsigned long long *ret);
	int (*vgpu_gi)(unsigned id, unsigned *ret);
	int (*vgpu_type)(unsigned id, unsigned *ret);
	int (*vgpu_type_name)(unsigned type, char *text, unsigned *size);
	int (*vgpu_type_size)(unsigned type, unsigned long long *ret);
	int (*vgpu_use)(nvml_device d, unsigned long long last_seen, unsigned *type,
			unsigned *count, struct nvml_vgpu_use *ret);
	/* gpu/nvml_event.c */
	int (*event_set)(nvml_event_set *ret);
	int (*event_register)(nvml_device d, unsigned long long types,
			      nvml_event_set set);
	int (*event_wait)(nvml_event_set set, struct nvml_event *ret,
			  unsigned timeout_ms);
	char driver[NVML_DRIVER_BYTES];
};

/* 0, or what a return code of the library means here */
int nvml_errno(int rc);
/* The same, with the library's own words */
int nvml_fail(const struct nvml *n, int rc, const char *what, struct err *err);
/* The library's text, printable and cut to fit */
void nvml_copy_text(char *to, size_t size, const char *from, size_t from_size);
/* One value of a device: takes it, or leaves it out. -ENODEV: the device is gone. */
int nvml_keep(struct nvml *n, struct child_gpu *m, enum child_gpu_value which, int rc,
	      uint64_t v, struct err *err);
/* What the driver tells only of some devices, or in newer releases */
int nvml_read_more(struct nvml *n, nvml_device d, struct child_gpu *m, struct err *err);
/* What of that does not change */
void nvml_identify_more(struct nvml *n, nvml_device d, struct child_gpu *m);

#endif
