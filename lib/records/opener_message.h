/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_OPENER_MESSAGE_H
#define CEEMS_LIB_RECORDS_OPENER_MESSAGE_H

/*
 * ceems-opener to ceemsd, over a SOCK_SEQPACKET pair: one datagram for each part that
 * was asked for, with the part's descriptors (SCM_RIGHTS). What a part's descriptors,
 * count and detail are, its header says. A part that the kernel refuses comes with rc,
 * the reason and no descriptor; the others come all the same. Then the opener ends:
 * maps and programs stay for as long as ceemsd holds the descriptors.
 */
#define OPENER_MAGIC 0x3153474fu
#define OPENER_VERSION                                                                 \
	8u /* changes with any layout in lib/records that it hands over */
#define OPENER_FDS_MAX 16u
#define OPENER_DETAILS 4u
#define OPENER_TEXT_BYTES 512u

enum opener_part {
	OPENER_GROUPS,   /* lib/records/group_slots.h */
	OPENER_IO,       /* lib/records/io_cells.h */
	OPENER_NETWORK,  /* lib/records/net_slots.h */
	OPENER_PERF,     /* lib/records/perf_cells.h */
	OPENER_HARDWARE, /* lib/records/hardware_cells.h */
	OPENER_PARTS
};

struct opener_message {
	unsigned int magic;
	unsigned int version;
	unsigned int part; /* enum opener_part */
	int rc;            /* 0 or negative errno: what the kernel refused */
	unsigned int fds;  /* that come with it; 0 if rc < 0 */
	unsigned int count;
	unsigned int detail[OPENER_DETAILS];
	char text[OPENER_TEXT_BYTES]; /* why not, on one line */
};

#endif
