/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CLEANUP_H
#define CEEMS_LIB_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Locals that clean up after themselves. Initialise where declared; pass ownership on
 * by steal_ptr()/steal_fd() only. errno survives the clean-up. */

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f) {
		int saved = errno;
		fclose(*f);
		errno = saved;
	}
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d) {
		int saved = errno;
		closedir(*d);
		errno = saved;
	}
}

#define auto_free __attribute__((cleanup(cleanup_free)))
#define auto_close __attribute__((cleanup(cleanup_close)))
#define auto_fclose __attribute__((cleanup(cleanup_fclose)))
#define auto_closedir __attribute__((cleanup(cleanup_closedir)))

static inline int steal_fd(int *fd)
{
	int v = *fd;
	*fd = -1;
	return v;
}

#define steal_ptr(pp)                                                                  \
	({                                                                             \
		__typeof__(*(pp)) stolen_ = *(pp);                                     \
		*(pp) = NULL;                                                          \
		stolen_;                                                               \
	})

#endif
