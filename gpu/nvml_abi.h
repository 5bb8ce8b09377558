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

_Static_assert(sizeof(struct nvml_pci) == 68, "NVML's layout");
_Static_assert(sizeof(struct nvml_memory) == 24, "NVML's layout");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "NVML's layout");

#endif
