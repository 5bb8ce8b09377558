/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_many FILE COUNT: so many processes, one after the other, of which each writes one
 * byte at the end of FILE and exits. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/parse.h"

int main(int argc, char *argv[])
{
	uint64_t count;

	if (argc != 3 || parse_u64(argv[2], &count) < 0)
		return 2;
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	for (uint64_t i = 0; i < count; i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0)
			_exit(write(fd, "x", 1) != 1);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			perror("io_many");
			return 1;
		}
	}
	return 0;
}
