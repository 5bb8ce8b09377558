/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_REDFISH_MUNGE_H
#define CEEMS_LIB_IDENTITY_REDFISH_MUNGE_H

/* How a node identifies itself to redfish_proxy: a request header with a MUNGE
 * credential for this request (munge_request_write_node()). In the previous release the
 * payload was the words below and the node's name, for any request and host. */
#define REDFISH_MUNGE_HEADER "X-Ceems-Munge"
#define REDFISH_MUNGE_PAYLOAD "ceems-redfish-proxy/1 "

#endif
