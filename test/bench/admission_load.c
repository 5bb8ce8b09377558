/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Posts one review again and again over a few TLS connections that are kept, as an API
 * server does: admission_load URL CA CERT KEY FILE THREADS SECONDS. Prints how many
 * were answered, and the median and the 99th percentile in us. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/parse.h"

#define MOST 2000000u
#define THREADS_MAX 16

static char **args;
static char body[65536];
static size_t body_len;
static double until;
static uint32_t *took_us;
static atomic_uint done, failed;

static double monotonic_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t drop_answer(char *p, size_t size, size_t n, void *arg)
{
	(void)p;
	(void)arg;
	return size * n;
}

static void *post_reviews(void *arg)
{
	CURL *c = curl_easy_init();
	struct curl_slist *type =
		curl_slist_append(NULL, "Content-Type: application/json");
	long status;

	curl_easy_setopt(c, CURLOPT_URL, args[1]);
	curl_easy_setopt(c, CURLOPT_CAINFO, args[2]);
	curl_easy_setopt(c, CURLOPT_SSLCERT, args[3]);
	curl_easy_setopt(c, CURLOPT_SSLKEY, args[4]);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, type);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)body_len);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop_answer);
	for (double begin = monotonic_s(); begin < until;) {
		CURLcode rc = curl_easy_perform(c);
		double end = monotonic_s();
		status = 0;
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
		if (rc != CURLE_OK || status != 200) {
			atomic_fetch_add(&failed, 1);
		} else {
			unsigned i = atomic_fetch_add(&done, 1);
			if (i < MOST)
				took_us[i] = (uint32_t)((end - begin) * 1e6);
		}
		begin = end;
	}
	curl_slist_free_all(type);
	curl_easy_cleanup(c);
	return arg;
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char *argv[])
{
	pthread_t threads[THREADS_MAX];
	FILE *f = argc == 8 ? fopen(argv[5], "re") : NULL;
	uint32_t n = 0, for_s = 0;

	if (!f || parse_u32(argv[6], &n) < 0 || parse_u32(argv[7], &for_s) < 0 || !n ||
	    n > THREADS_MAX)
		return 2;
	args = argv;
	body_len = fread(body, 1, sizeof(body) - 1, f);
	fclose(f);
	took_us = calloc(MOST, sizeof(*took_us));
	curl_global_init(CURL_GLOBAL_ALL);
	until = monotonic_s() + for_s;
	for (uint32_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, post_reviews, NULL);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	unsigned all = done < MOST ? done : MOST;
	if (!took_us || !all)
		return 1;
	qsort(took_us, all, sizeof(*took_us), by_size);
	printf("%u %u %u %u\n", all, took_us[all / 2], took_us[all - all / 100 - 1],
	       (unsigned)failed);
	return 0;
}
