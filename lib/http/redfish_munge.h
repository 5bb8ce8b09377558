/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_REDFISH_MUNGE_H
#define CEEMS_LIB_HTTP_REDFISH_MUNGE_H

/* How a node tells redfish_proxy which one it is: a request header with a MUNGE
 * credential whose payload is this and the node's name. The words before the name keep
 * credentials for other purposes from being taken for one. */
#define REDFISH_MUNGE_HEADER "X-Ceems-Munge"
#define REDFISH_MUNGE_PAYLOAD "ceems-redfish-proxy/1 "

#endif
