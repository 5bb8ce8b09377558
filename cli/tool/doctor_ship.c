/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool doctor: from the spool to the aggregator: what waits, certificates,
 * addresses and clocks. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/doctor.h"
#include "cli/tool/selfsigned.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/records/report.h"
#include "lib/records/spool.h"

#define WAITING_MAX 100000   /* records that are counted */
#define ROOM_BYTES (1 << 20) /* with less a report may not be stored */
#define CERTIFICATE_DAYS 14
#define CLOCK_LIMIT_S 2 /* HTTP's Date has whole seconds */

/* When a record was made, by this node's clock; 0: unknown. */
static uint64_t find_record_time(const struct spool_record *record)
{
	struct report r;

	if (report_decode(record->data, record->len, &r, NULL) < 0)
		return 0;
	return r.ended_ns > r.t1_ns ? r.ended_ns : r.t1_ns;
}

static void say_waiting(const char *folder, uint64_t waiting, uint64_t oldest_ns,
			uint64_t interval_ms, struct findings *f)
{
	uint64_t now = clock_realtime_ns();
	uint64_t age_s =
		oldest_ns && now > oldest_ns ? (now - oldest_ns) / NSEC_PER_SEC : 0;
	char age[48] = "";
	bool late = age_s > 3 * interval_ms / 1000 + 60;

	if (age_s)
		(void)snprintf(age, sizeof(age), ", the oldest for %" PRIu64 " s",
			       age_s);
	finding(f, late ? LEVEL_FAIL : LEVEL_OK,
		late ? "is the aggregator reached, and does it know this node? see "
		       "the log of ceems-courier"
		     : NULL,
		"%s: %s%" PRIu64 " records wait%s", folder,
		waiting >= WAITING_MAX ? "more than " : "", waiting, age);
}

static void check_waiting(const char *folder, uint64_t interval_ms, struct findings *f)
{
	struct spool_reader *reader;
	struct spool_record record;
	struct err err = {""};
	uint64_t waiting = 0, oldest_ns = 0;
	int rc = spool_reader_peek(folder, &reader, &err);

	if (rc < 0) {
		finding(f, LEVEL_FAIL,
			rc == -ENOENT ? "systemd-tmpfiles --create ceems.conf, then "
					"systemctl restart ceemsd"
				      : "run this as root",
			"%s: %s", folder, err.text);
		return;
	}
	while (waiting < WAITING_MAX && spool_next(reader, &record, &err) > 0)
		if (waiting++ == 0)
			oldest_ns = find_record_time(&record);
	spool_reader_close(reader); /* nothing was acknowledged */
	say_waiting(folder, waiting, oldest_ns, interval_ms, f);
}

/* Of the file system, as users other than root have it. */
static void check_room(const char *folder, struct findings *f)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) < 0)
		return; /* said where the folder is read */
	uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (left < ROOM_BYTES)
		finding(f, LEVEL_FAIL, "free some space on its file system",
			"%s: %" PRIu64 " KiB are left on the disk: no report is stored",
			folder, left / 1024);
	else if (fs.f_files > 0 && fs.f_favail == 0)
		finding(f, LEVEL_FAIL, "remove files on its file system",
			"%s: the disk takes no more files: no report is stored",
			folder);
}

static void check_losses(const char *folder, struct findings *f)
{
	struct spool_stats s;

	if (spool_stats(folder, &s, NULL) < 0)
		return;
	if (s.lost[SPOOL_FINAL] + s.lost[SPOOL_JOB] > 0)
		finding(f, LEVEL_FAIL, "give it more room (reports.max-bytes)",
			"%s: %" PRIu64 " final reports were lost for want of room",
			folder, s.lost[SPOOL_FINAL] + s.lost[SPOOL_JOB]);
	if (s.lost[SPOOL_INTERVAL] > 0)
		finding(f, LEVEL_WARN, "give it more room (reports.max-bytes)",
			"%s: %" PRIu64 " windows were given up for want of room",
			folder, s.lost[SPOOL_INTERVAL]);
	if (s.damaged + s.unreadable > 0)
		finding(f, LEVEL_WARN, "look at the disk",
			"%s: %" PRIu64 " damaged places were skipped", folder,
			s.damaged + s.unreadable);
}

static void check_certificate(const char *file, const char *what, struct findings *f)
{
	int64_t left_s = 0;
	struct err err = {""};

	if (!file || !*file)
		return;
	if (selfsigned_time_left(file, &left_s, &err) < 0)
		finding(f, LEVEL_FAIL, "put a certificate there", "%s: %s", what,
			err.text);
	else if (left_s < 0)
		finding(f, LEVEL_FAIL, "renew it", "%s: %s has expired", what, file);
	else
		finding(f, left_s < CERTIFICATE_DAYS * 86400 ? LEVEL_WARN : LEVEL_OK,
			left_s < CERTIFICATE_DAYS * 86400 ? "renew it" : NULL,
			"%s: %s is valid for %" PRId64 " more days", what, file,
			left_s / 86400);
}

/* Its Date against our clock, the time that the answer took left out. */
static void check_offset(struct http_client *client, const char *url, time_t before,
			 time_t after, struct findings *f)
{
	const char *date = http_client_header(client, "Date");
	struct tm tm = {.tm_sec = 0};

	if (!date || !strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return;
	time_t theirs = timegm(&tm);
	if (theirs + CLOCK_LIMIT_S < before || theirs > after + CLOCK_LIMIT_S)
		finding(f, LEVEL_WARN, "see which of the two is wrong",
			"%s: its clock and ours differ by %lld s", url,
			(long long)(theirs < before ? before - theirs
						    : theirs - after));
	else
		finding(f, LEVEL_OK, NULL, "%s: its clock agrees with ours", url);
}

static const char *advise_unreached(int rc)
{
	switch (rc) {
	case -EHOSTUNREACH:
		return "correct aggregator.url, or what resolves names here";
	case -EKEYREJECTED:
		return "does it serve TLS, with a certificate of this name that "
		       "aggregator.ca-file verifies?";
	default:
		return "is it running, and is this its address?";
	}
}

static void check_aggregator(const struct doctor_config *config, const char *url,
			     struct findings *f)
{
	const struct http_client_config how = {
		.ca_file = config->aggregator_ca_file,
		.cert_file = config->aggregator_cert_file,
		.key_file = config->aggregator_key_file,
	};
	auto_http_response struct http_response answer = {0};
	struct http_client *client = NULL;
	char health[1024];
	struct err err = {""};
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	(void)snprintf(health, sizeof(health), "%.*s/health", (int)len, url);
	time_t before = time(NULL);
	int rc = http_client_new(&how, &client, &err);
	if (rc == 0)
		rc = http_client_do(client, &(struct http_request){.url = health},
				    &answer, &err);
	if (rc < 0)
		finding(f, LEVEL_FAIL, advise_unreached(rc), "%s", err.text);
	else if (answer.status != 200)
		finding(f, LEVEL_FAIL, "look at its log",
			"%s: it answers with status %u", health, answer.status);
	else
		finding(f, LEVEL_OK, NULL, "%s: it answers", health);
	if (rc == 0)
		check_offset(client, health, before, time(NULL), f);
	http_client_free(client);
}

void doctor_ship(const struct doctor_config *config, struct findings *f)
{
	char host[256] = "";
	const char *folder = config->reports_spool;

	if (config->aggregator_urls.count == 0 && !config->reports) {
		finding(f, LEVEL_WARN,
			"name it by aggregator.url, if there is one for this node",
			"no aggregator: live figures only, no records");
		return;
	}
	(void)gethostname(host, sizeof(host) - 1);
	auto_free char *named = folder ? spool_folder(folder, host) : NULL;
	if (named) {
		check_waiting(named, config->reports_interval_ms, f);
		check_losses(named, f);
		check_room(folder, f);
	}
	check_certificate(config->aggregator_cert_file, "our certificate", f);
	check_certificate(config->aggregator_ca_file, "the aggregator's CA", f);
	for (size_t i = 0; i < config->aggregator_urls.count; i++)
		check_aggregator(config, config->aggregator_urls.items[i], f);
}
