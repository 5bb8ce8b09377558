/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzz target over its seed corpus (folders or files as arguments) under the
 * sanitizers: what `make check` does with every target. TAP on stdout. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static void replay_file(const char *path)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	uint8_t *data = malloc(1 << 20);
	if (data) {
		size_t n = fread(data, 1, 1 << 20, f);
		uint8_t *exact = malloc(n ? n : 1);
		if (exact) {
			memcpy(exact, data, n);
			LLVMFuzzerTestOneInput(exact, n);
			replayed++;
		}
		free(exact);
	}
	free(data);
	fclose(f);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	const char *name = strrchr(argv[0], '/');
	name = name ? name + 1 : argv[0];
	char folder[256];
	int stem = (int)(strlen(name) - strlen("_replay"));
	snprintf(folder, sizeof(folder), "test/fuzz/corpus/%.*s", stem, name);
	const char *path = argc > 1 ? argv[1] : folder;
	DIR *d = opendir(path);
	if (!d) {
		printf("1..1\nnot ok 1 - %s: no corpus at %s\n", name, path);
		return 1;
	}
	struct dirent *e;
	while ((e = readdir(d))) {
		char file[1024];
		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		replay_file(file);
	}
	closedir(d);
	static const uint8_t none[1];
	LLVMFuzzerTestOneInput(none, 0);
	printf("1..1\n%s 1 - %s: %d corpus files\n", replayed ? "ok" : "not ok", name,
	       replayed);
	return replayed ? 0 : 1;
}
