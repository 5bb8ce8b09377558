/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors that the driver reports by themselves (XID). */
#include <errno.h>

#include "gpu/nvml_impl.h"

int nvml_events_open(struct nvml *n, void **ret, struct err *err)
{
	if (!n->event_set || !n->event_register || !n->event_wait)
		return err_set(err, -EOPNOTSUPP, "this release has no events");
	int rc = n->event_set(ret);
	return rc == NVML_SUCCESS ? 0 : nvml_fail(n, rc, "nvmlEventSetCreate", err);
}

int nvml_events_add(struct nvml *n, void *set, nvml_device d, struct err *err)
{
	int rc = n->event_register(d, NVML_EVENT_XID, set);

	return rc == NVML_SUCCESS ? 0
				  : nvml_fail(n, rc, "nvmlDeviceRegisterEvents", err);
}

int nvml_events_wait(struct nvml *n, void *set, unsigned timeout_ms, nvml_device *ret,
		     uint64_t *ret_xid, struct err *err)
{
	struct nvml_event e = {0};
	int rc = n->event_wait(set, &e, timeout_ms);

	if (rc == NVML_ERROR_TIMEOUT ||
	    (rc == NVML_SUCCESS && e.type != NVML_EVENT_XID))
		return -EAGAIN;
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlEventSetWait", err);
	*ret = e.device;
	*ret_xid = e.data;
	return 0;
}
