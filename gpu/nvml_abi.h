/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_NVML_ABI_H
#define CEEMS_GPU_NVML_ABI_H

/*
 * The part of NVML's binary interface that is called here, declared anew: the vendor's
 * header is not needed to build, and the library is opened only where it is. Source:
 * "NVML API Reference Guide" (docs.nvidia.com/deploy/nvml-api), chapters Device
 * Structs, Device Enums, Initialization and Cleanup, System Queries and Device Queries.
 */

/* nvmlReturn_t */
enum nvml_return {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_TIMEOUT = 10,
	NVML_ERROR_LIBRARY_NOT_FOUND = 12,
	NVML_ERROR_FUNCTION_NOT_FOUND = 13,
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_RESET_REQUIRED = 16,
	NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
	NVML_ERROR_UNKNOWN = 999,
};

typedef void *nvml_device; /* nvmlDevice_t, opaque */

#define NVML_UUID_BYTES 96   /* NVML_DEVICE_UUID_V2_BUFFER_SIZE */
#define NVML_NAME_BYTES 96   /* NVML_DEVICE_NAME_V2_BUFFER_SIZE */
#define NVML_DRIVER_BYTES 80 /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */

/* nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3 */
struct nvml_pci {
	char bus_id_legacy[16]; /* domain:bus:device.0, a domain of 16 bits */
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32]; /* domain:bus:device.function, a domain of 32 bits */
};

/* nvmlUtilization_t: percent of the last sample period */
struct nvml_utilization {
	unsigned gpu, memory;
};

/* nvmlMemory_t: bytes; used contains what the driver reserves */
struct nvml_memory {
	unsigned long long total, free, used;
};

/* nvmlMemory_v2_t; the caller sets version, which is the size and number of the struct
 */
struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)(sizeof(struct nvml_memory_v2) | 2u << 24))

#define NVML_TEMPERATURE_GPU 0 /* nvmlTemperatureSensors_t */
#define NVML_CLOCK_SM 1        /* nvmlClockType_t */
#define NVML_CLOCK_MEM 2

/* nvmlTemperatureThresholds_t */
#define NVML_THRESHOLD_SHUTDOWN 0
#define NVML_THRESHOLD_SLOWDOWN 1

/* nvmlDeviceGetCurrentClocksEventReasons, nvmlClocksEventReason*: the bits are those of
 * enum child_gpu_reason. */
#define NVML_REASONS 0x1ffull

#define NVML_POLICY_POWER 0 /* nvmlPerfPolicyType_t */
#define NVML_POLICY_THERMAL 1

/* nvmlViolationTime_t: ns */
struct nvml_violation {
	unsigned long long reference, violation;
};

#define NVML_ECC_CORRECTED 0 /* nvmlMemoryErrorType_t */
#define NVML_ECC_UNCORRECTED 1
#define NVML_ECC_VOLATILE 0 /* nvmlEccCounterType_t: since the driver was loaded */
#define NVML_ECC_AGGREGATE 1

union nvml_number { /* nvmlValue_t */
	double d;
	int si;
	unsigned ui;
	unsigned long ul;
	unsigned long long ull;
	long long sll;
	unsigned short us;
};
enum nvml_number_type { /* nvmlValueType_t */
			NVML_DOUBLE,
			NVML_UINT,
			NVML_ULONG,
			NVML_ULONGLONG,
			NVML_LONGLONG,
			NVML_INT,
			NVML_USHORT,
};

/* nvmlFieldValue_t */
struct nvml_field {
	unsigned id, scope;
	long long at_us, latency_us;
	unsigned type;
	int rc;
	union nvml_number value;
};
/* Chapter Field Value Enums */
#define NVML_FIELD_MEMORY_TEMPERATURE 82
#define NVML_FIELD_LINK_TX 138 /* KiB; scope: link, or all */
#define NVML_FIELD_LINK_RX 139
#define NVML_FIELD_POWER_NOW 186 /* mW */
#define NVML_FIELD_PCIE_TX 197   /* bytes */
#define NVML_FIELD_PCIE_RX 198
#define NVML_SCOPE_GPU 0u    /* NVML_POWER_SCOPE_GPU */
#define NVML_SCOPE_MODULE 1u /* NVML_POWER_SCOPE_MODULE: GPU, processor, memory */
#define NVML_SCOPE_ALL 0xffffffffu

#define NVML_SAMPLES_BUSY 1 /* nvmlSamplingType_t: percent */
/* nvmlSample_t: microseconds of the host's clock */
struct nvml_sample {
	unsigned long long at_us;
	union nvml_number value;
};

/* nvmlDeviceAttributes_t, of a MIG device */
struct nvml_attributes {
	unsigned sm_count, copy_engines, decoders, encoders, jpegs, ofas;
	unsigned gi_slices, ci_slices;
	unsigned long long memory_mib;
};
/* nvmlGpuInstanceProfileInfo_t */
struct nvml_gi_profile {
	unsigned id, p2p, slices, instances, sm_count, copy_engines, decoders, encoders,
		jpegs, ofas;
	unsigned long long memory_mib;
};
#define NVML_GI_PROFILE_4_SLICE 3
#define NVML_GI_PROFILE_7_SLICE 4
#define NVML_GI_PROFILE_8_SLICE 5

/* Chapter GPM: nvmlGpmSupport_t, nvmlGpmMetricsGet_t. Their versions are plain numbers.
 */
typedef void *nvml_gpm_sample;
struct nvml_gpm_support {
	unsigned version, supported;
};
#define NVML_GPM_VERSION 1
struct nvml_gpm_metric {
	unsigned id;
	int rc;
	double value;
	char *short_name, *long_name, *unit;
};
struct nvml_gpm_metrics {
	unsigned version, count;
	nvml_gpm_sample first, second;
	struct nvml_gpm_metric metrics[333]; /* the most of any release; count are used
					      */
};
#define NVML_GPM_GRAPHICS 1 /* nvmlGpmMetricId_t: percent, unless told */
#define NVML_GPM_SM 2
#define NVML_GPM_OCCUPANCY 3
#define NVML_GPM_TENSOR 5
#define NVML_GPM_DRAM 10
#define NVML_GPM_FP64 11
#define NVML_GPM_FP32 12
#define NVML_GPM_FP16 13

/* nvmlProcessInfo_t of the entry points _v2 and _v3 */
struct nvml_process {
	unsigned pid;
	unsigned long long memory; /* bytes; all ones: not known */
	unsigned gi, ci;           /* all ones: none */
};
/* nvmlProcessUtilizationSample_t: percent */
struct nvml_process_use {
	unsigned pid;
	unsigned long long at_us;
	unsigned sm, memory, encoder, decoder;
};

/* nvmlAccountingStats_t, of a process */
struct nvml_accounting {
	unsigned busy_percent, memory_percent; /* over its time */
	unsigned long long peak;               /* bytes */
	unsigned long long time_ms;            /* 0: it still runs */
	unsigned long long started_us;
	unsigned is_running, reserved[5];
};
#define NVML_ACCOUNTING_ON 1 /* nvmlEnableState_t */

/* Chapter vGPU: nvmlVgpuInstance_t and nvmlVgpuTypeId_t are numbers. */
#define NVML_VM_ID_UUID 1       /* nvmlVgpuVmIdType_t; 0: a hypervisor's number */
#define NVML_VM_ID_BYTES 80     /* NVML_DEVICE_UUID_BUFFER_SIZE */
#define NVML_VGPU_TYPE_BYTES 64 /* NVML_DEVICE_NAME_BUFFER_SIZE */
/* nvmlVgpuInstanceUtilizationSample_t: percent of the device */
struct nvml_vgpu_use {
	unsigned id;
	unsigned long long at_us;
	union nvml_number sm, memory, encoder, decoder;
};

/* Chapter Event Handling Methods: nvmlEventData_t */
typedef void *nvml_event_set;
struct nvml_event {
	nvml_device device;
	unsigned long long type, data;
	unsigned gi, ci;
};
#define NVML_EVENT_XID 0x8ull
#define NVML_EVENT_MIG 0x400ull

_Static_assert(sizeof(struct nvml_field) == 40, "NVML's layout");
_Static_assert(sizeof(struct nvml_sample) == 16, "NVML's layout");
_Static_assert(sizeof(struct nvml_attributes) == 40, "NVML's layout");
_Static_assert(sizeof(struct nvml_gi_profile) == 48, "NVML's layout");
_Static_assert(sizeof(struct nvml_gpm_metric) == 40, "NVML's layout");
_Static_assert(sizeof(struct nvml_process) == 24, "NVML's layout");
_Static_assert(sizeof(struct nvml_process_use) == 32, "NVML's layout");
_Static_assert(sizeof(struct nvml_accounting) == 56, "NVML's layout");
_Static_assert(sizeof(struct nvml_vgpu_use) == 48, "NVML's layout");
_Static_assert(sizeof(struct nvml_event) == 32, "NVML's layout");
_Static_assert(sizeof(struct nvml_pci) == 68, "NVML's layout");
_Static_assert(sizeof(struct nvml_memory) == 24, "NVML's layout");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "NVML's layout");

#endif
