/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the long name is cached, as it belongs to the host and not to a program. */
#include "lib/own_host.h"

#include <netdb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/clock.h"

#define NAME_BYTES 256
#define AGAIN_NS (60 * NSEC_PER_SEC)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char long_name[NAME_BYTES]; /* "": not known */
static uint64_t again_ns;

bool own_host_is_named(const char *name)
{
	char own[NAME_BYTES] = "";
	size_t n = strlen(name);

	if (!n || n >= sizeof(own) || gethostname(own, sizeof(own) - 1) < 0)
		return false;
	if (strncasecmp(own, name, n) == 0 && (!own[n] || own[n] == '.'))
		return true;
	pthread_mutex_lock(&mutex);
	bool same = strcasecmp(long_name, name) == 0;
	pthread_mutex_unlock(&mutex);
	return same;
}

static void ask_name_service(const char *own)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_CANONNAME};
	struct addrinfo *list = NULL;

	if (getaddrinfo(own, NULL, &hints, &list) != 0)
		return;
	if (list && list->ai_canonname && strlen(list->ai_canonname) < NAME_BYTES) {
		pthread_mutex_lock(&mutex);
		snprintf(long_name, sizeof(long_name), "%s", list->ai_canonname);
		pthread_mutex_unlock(&mutex);
	}
	freeaddrinfo(list);
}

void own_host_learn_name(const char *name)
{
	char own[NAME_BYTES] = "";
	uint64_t now = clock_boottime_ns();

	if (gethostname(own, sizeof(own) - 1) < 0)
		return;
	size_t n = strlen(own);
	if (!n || strchr(own, '.') || strncasecmp(name, own, n) != 0 || name[n] != '.')
		return;
	pthread_mutex_lock(&mutex);
	bool due = !*long_name && now >= again_ns;
	if (due)
		again_ns = now + AGAIN_NS;
	pthread_mutex_unlock(&mutex);
	if (due)
		ask_name_service(own);
}
