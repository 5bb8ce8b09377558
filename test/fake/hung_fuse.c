/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hung_fuse FILE FOLDER TRIGGER [UID GID]: mounts a file system on a folder that has
 * one file, program, with what FILE holds, and answers the kernel (linux/fuse.h) as
 * long as TRIGGER does not exist. If that says "open" nothing is answered from then on;
 * if "read", files still open. With a UID and GID only a process of that user and group
 * may look into it: root may not. Until it is killed; who started it unmounts the
 * folder. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"

enum { NODE_PROGRAM = 2, BUFFER = 1 << 18 };

struct host {
	int device, file;
	const char *trigger;
	uint64_t size;
};

static void reply(const struct host *h, uint64_t unique, int error, const void *data,
		  size_t len)
{
	static char out[BUFFER];
	struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + len),
				       .error = -error,
				       .unique = unique};

	memcpy(out, &head, sizeof(head));
	if (len)
		memcpy(out + sizeof(head), data, len);
	if (write(h->device, out, sizeof(head) + len) < 0 && errno != ENOENT)
		perror("reply");
}

static struct fuse_attr attr_of(const struct host *h, uint64_t node)
{
	struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = 4096};

	a.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755;
	a.size = node == FUSE_ROOT_ID ? 0 : h->size;
	a.blocks = a.size / 512;
	return a;
}

static void reply_read(const struct host *h, uint64_t unique, const void *arg)
{
	static char data[BUFFER - 64];
	const struct fuse_read_in *in = arg;
	size_t want = in->size < sizeof(data) ? in->size : sizeof(data);
	ssize_t n = pread(h->file, data, want, (off_t)in->offset);

	reply(h, unique, n < 0 ? errno : 0, data, n < 0 ? 0 : (size_t)n);
}

static void answer(const struct host *h, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = 31,
					   .max_readahead = 65536,
					   .max_write = 65536};
	struct fuse_attr_out attr = {.attr_valid = 1, .attr = attr_of(h, in->nodeid)};
	struct fuse_entry_out entry = {.nodeid = NODE_PROGRAM,
				       .attr = attr_of(h, NODE_PROGRAM)};
	const struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};
	const char *name = (const char *)(in + 1);

	switch (in->opcode) {
	case FUSE_INIT:
		reply(h, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(name, "program") == 0)
			reply(h, in->unique, 0, &entry, sizeof(entry));
		else
			reply(h, in->unique, ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		reply(h, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(h, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		reply_read(h, in->unique, in + 1);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(h, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		reply(h, in->unique, ENOSYS, NULL, 0);
	}
}

/* Whether the request is left without an answer */
static int is_hung(const struct host *h, uint32_t opcode)
{
	char text[8] = "";
	auto_close int fd = open(h->trigger, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strncmp(text, "read", 4) != 0 ||
	       (opcode != FUSE_OPEN && opcode != FUSE_GETATTR && opcode != FUSE_LOOKUP);
}

int main(int argc, char *argv[])
{
	static char in[BUFFER] __attribute__((aligned(8)));
	struct host h = {.trigger = argc >= 4 ? argv[3] : ""};
	char options[128];
	struct stat st;

	if (argc != 4 && argc != 6)
		return 2;
	h.file = open(argv[1], O_RDONLY | O_CLOEXEC);
	h.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (h.file < 0 || h.device < 0 || fstat(h.file, &st) < 0) {
		perror("/dev/fuse");
		return 1;
	}
	h.size = (uint64_t)st.st_size;
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=%s,group_id=%s%s", h.device,
		       argc == 6 ? argv[4] : "0", argc == 6 ? argv[5] : "0",
		       argc == 6 ? "" : ",allow_other");
	if (mount("hung", argv[2], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("mount");
		return 1;
	}
	puts("ready");
	(void)fflush(stdout);
	for (;;) {
		const struct fuse_in_header *head = (const struct fuse_in_header *)in;
		ssize_t n = read(h.device, in, sizeof(in));
		if (n < 0 && errno == ENODEV)
			return 0;
		if (n < (ssize_t)sizeof(*head))
			continue;
		if (!is_hung(&h, head->opcode))
			answer(&h, head);
	}
}
