/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_QUANTITY_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_QUANTITY_H

#include <stdint.h>

/* A quantity of Kubernetes, "250m", "64Mi", "1.5", "1e3", in thousandths, rounded up.
 * -EINVAL; -ERANGE: 2^60 or more. Source: k8s.io/apimachinery, api/resource. */
int kube_quantity(const char *s, uint64_t *ret_milli);

#endif
