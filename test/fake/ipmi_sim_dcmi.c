/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DCMI power readings for OpenIPMI's ipmi_sim, which has none: a module that it loads
 * (loadlib "this" "FILE"). FILE holds blank-separated numbers, read at each request:
 * watts, min, max, avg, state (1: active), completion code, bytes to leave out at the
 * end of the reply, milliseconds to wait before it. A missing number is 0.
 * A test inside a virtual machine, without such a file, sends the numbers itself, with
 * 16 bits each, as group DCMI, command f0; command f1 ends the simulator. */
#include <OpenIPMI/mcserv.h>
#include <OpenIPMI/serv.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GROUP_DCMI 0xdc
#define CMD_CAPABILITIES 0x01
#define CMD_POWER_READING 0x02
#define CMD_POWER_LIMIT 0x03
#define CMD_SET 0xf0
#define CMD_END 0xf1
#define REPLY_BYTES 19

enum { WATTS, MIN, MAX, AVG, STATE, CODE, CUT, WAIT_MS, NUMBERS };

int ipmi_sim_module_print_version(sys_data_t *sys, char *options);
int ipmi_sim_module_init(sys_data_t *sys, const char *options);

static char path[512];
static unsigned long set[NUMBERS];
static bool is_set;

static void read_numbers(unsigned long n[NUMBERS])
{
	char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	char *p = text, *end;

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	for (int i = 0; i < NUMBERS; i++) {
		n[i] = strtoul(p, &end, 0);
		p = end;
	}
}

static void put_u16(unsigned char *to, unsigned long v)
{
	to[0] = (unsigned char)v;
	to[1] = (unsigned char)(v >> 8);
}

static void take_numbers(const msg_t *msg)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		unsigned at = 1 + 2 * i;
		set[i] = at + 1 < msg->len ? msg->data[at] | msg->data[at + 1] << 8 : 0;
	}
	is_set = true;
}

static void put_reading(const unsigned long n[NUMBERS], unsigned char *reply,
			unsigned int *reply_len)
{
	uint32_t now = (uint32_t)time(NULL);

	memset(reply, 0, REPLY_BYTES);
	reply[1] = GROUP_DCMI;
	for (int i = WATTS; i <= AVG; i++)
		put_u16(reply + 2 + 2 * i, n[i]);
	put_u16(reply + 10, now);
	put_u16(reply + 12, now >> 16);
	put_u16(reply + 14, 1000);
	reply[18] = n[STATE] ? 0x40 : 0;
	*reply_len = n[CUT] < REPLY_BYTES ? (unsigned)(REPLY_BYTES - n[CUT]) : 1;
}

static void answer(lmc_data_t *mc, msg_t *msg, unsigned char *reply,
		   unsigned int *reply_len, void *arg)
{
	/* DCMI 1.5: power management, reachable by system interface and LAN */
	static const unsigned char capability[] = {0, GROUP_DCMI, 1, 5, 2, 0, 1, 7};
	/* 896 W */
	static const unsigned char limit[] = {0, GROUP_DCMI, 0, 0, 0, 0x80, 3, 0,
					      0, 0,          0, 0, 0, 1,    0};
	unsigned long n[NUMBERS];

	(void)mc;
	(void)arg;
	reply[0] = 0;
	*reply_len = 1;
	if (msg->cmd == CMD_END)
		_exit(0);
	if (msg->cmd == CMD_SET) {
		take_numbers(msg);
		return;
	}
	read_numbers(n);
	if (is_set)
		memcpy(n, set, sizeof(n));
	usleep((useconds_t)n[WAIT_MS] * 1000);
	reply[0] = (unsigned char)n[CODE];
	if (reply[0])
		return;
	if (msg->cmd == CMD_POWER_READING) {
		put_reading(n, reply, reply_len);
	} else if (msg->cmd == CMD_POWER_LIMIT) {
		memcpy(reply, limit, sizeof(limit));
		*reply_len = sizeof(limit);
	} else if (msg->cmd == CMD_CAPABILITIES && msg->len > 1 && msg->data[1] == 1) {
		memcpy(reply, capability, sizeof(capability));
		*reply_len = sizeof(capability);
	} else {
		reply[0] = 0xc1;
	}
}

int ipmi_sim_module_print_version(sys_data_t *sys, char *options)
{
	(void)sys;
	(void)options;
	return 0;
}

int ipmi_sim_module_init(sys_data_t *sys, const char *options)
{
	(void)sys;
	(void)snprintf(path, sizeof(path), "%s", options ? options : "");
	ipmi_emu_register_group_extension_handler(GROUP_DCMI, answer, NULL);
	return 0;
}
