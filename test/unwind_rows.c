/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the rows that the profiler makes of an ELF file: "address CFA frame-pointer".
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "profiler/files/unwind_table.h"

static inline bool unwind_read(void *memory, unsigned long long at,
			       unsigned long long *ret)
{
	(void)memory, (void)at, (void)ret;
	return false;
}
#include "profiler/unwind_step.h"

static void print_row(const struct unwind_row *r)
{
	static const char *const cfa[] = {"?", "end", "sp", "fp", "*fp", "plt"},
				 *const fp[] = {"same", "c", "fp", "ra"};
	unsigned c = UNWIND_RULE_CFA(r->rule), f = UNWIND_RULE_FP(r->rule);

	printf("%x %s", r->pc, cfa[c]);
	if (c >= UNWIND_CFA_SP && c <= UNWIND_CFA_AT_FP)
		printf("%+d", r->cfa_words * 8);
	printf(" %s", fp[f]);
	if (f != UNWIND_FP_SAME)
		printf("%+lld", unwind_saved_words(r) * 8);
	printf("\n");
}

int main(int argc, char *argv[])
{
	struct unwind_table t;
	struct err err = {""};
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: unwind_rows FILE\n");
		return 2;
	}
	if (unwind_table_read(fd, (size_t)1 << 24, &t, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < t.count; i++)
		print_row(&t.rows[i]);
	unwind_table_free(&t);
	close(fd);
	return 0;
}
