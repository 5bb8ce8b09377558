/* SPDX-License-Identifier: GPL-2.0-or-later */
/* raw_env ENTRY command...: runs command with ENTRY, unchanged, in front of its
 * environment, even if it is not NAME=value, which no shell could pass on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t n = 0;

	if (argc < 3) {
		fputs("usage: raw_env ENTRY command...\n", stderr);
		return 2;
	}
	while (environ[n])
		n++;
	char **env = calloc(n + 2, sizeof(*env));
	if (!env)
		return 1;
	env[0] = argv[1];
	memcpy(env + 1, environ, n * sizeof(*env));
	execvpe(argv[2], argv + 2, env);
	fprintf(stderr, "raw_env: %s: %s\n", argv[2], strerror(errno));
	free(env);
	return 1;
}
