/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates with "#@ section" lines and @NAMES@. The formulas are in the templates,
 * where `promtool test rules` tests them; the code only selects. */
#include "cli/tool/prometheus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/parse.h"

/* The files themselves, so there is no generated copy. The path is relative to the
 * root, where the compiler runs. */
#define INCLUDE(name, file)                                                            \
	__asm__(".pushsection .rodata,\"a\",%progbits\n" #name ":\n"                   \
		".incbin \"" file "\"\n"                                               \
		".byte 0\n"                                                            \
		".popsection\n");                                                      \
	extern const char name[] __attribute__((visibility("hidden")))
INCLUDE(prometheus_rules_in, "contrib/prometheus/rules.in");
INCLUDE(prometheus_relabel_in, "contrib/prometheus/relabel.in");
INCLUDE(prometheus_alerts_yaml, "contrib/prometheus/alerts.yaml");

#define MARK "#@ "
#define WINDOW_OF_SCRAPES 4

struct word {
	const char *name, *value; /* "@PUE@" */
};

/* The text between "#@ NAME" and the next such line; NULL: none. */
static const char *find_template_section(const char *text, const char *name,
					 size_t *ret_len)
{
	const size_t len = strlen(name);

	while (text && *text) {
		const char *line = text, *end = strchr(line, '\n');
		text = end ? end + 1 : NULL;
		if (!end || strncmp(line, MARK, strlen(MARK)) != 0)
			continue;
		line += strlen(MARK);
		if ((size_t)(end - line) != len || memcmp(line, name, len) != 0)
			continue;
		const char *next = strstr(end, "\n" MARK);
		*ret_len = next ? (size_t)(next + 1 - text) : strlen(text);
		return text;
	}
	return NULL;
}

static void put_filled(struct buf *out, const char *text, size_t len,
		       const struct word *words, size_t count)
{
	const char *end = text + len;

	while (text < end) {
		size_t i = 0;
		while (i < count &&
		       !(*text == '@' &&
			 strncmp(text, words[i].name, strlen(words[i].name)) == 0))
			i++;
		if (i < count) {
			buf_puts(out, words[i].value);
			text += strlen(words[i].name);
		} else {
			buf_putc(out, *text++);
		}
	}
}

static int put_section(struct buf *out, const char *file, const char *name,
		       const struct word *words, size_t count, struct err *err)
{
	size_t len;
	const char *text = find_template_section(file, name, &len);

	if (!text)
		return err_set(err, -EINVAL, "not known: %s", name);
	put_filled(out, text, len, words, count);
	return buf_error(out);
}

static bool has_only(const char *text, size_t len, const char *set)
{
	return len && strspn(text, set) >= len;
}

#define WORD "abcdefghijklmnopqrstuvwxyz0123456789_-"
#define ZONE "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

static int put_zone(const struct prometheus_rules *r, struct word *words, size_t count,
		    struct buf *out, struct err *err)
{
	const char *p = r->providers;
	char provider[32];

	if (!has_only(r->zone, strlen(r->zone), ZONE) || strlen(r->zone) > 16)
		return err_set(err, -EINVAL,
			       "--country-code: must look like FR or DE: %s", r->zone);
	int rc = put_section(out, prometheus_rules_in, "zone", words, count, err);
	while (rc == 0 && *p) {
		size_t len = strcspn(p, ",");
		if (!has_only(p, len, WORD) || len >= sizeof(provider))
			return err_set(
				err, -EINVAL,
				"--providers: must be names separated by commas: %s",
				r->providers);
		memcpy(provider, p, len);
		provider[len] = '\0';
		words[count] = (struct word){"@PROVIDER@", provider};
		rc = put_section(out, prometheus_rules_in, "zone-provider", words,
				 count + 1, err);
		words[count] = (struct word){NULL, NULL};
		p += len + (p[len] == ',');
	}
	return rc;
}

int prometheus_rules(const struct prometheus_rules *r, struct buf *out, struct err *err)
{
	static const char *const gpus[] = {"none", "dcgm", "amd-smi",
					   "amd-device-metrics"};
	char pue[32], window[32], options[128];
	size_t g = 0;

	while (g < 4 && strcmp(gpus[g], r->gpu) != 0)
		g++;
	if (g == 4)
		return err_set(err, -EINVAL,
			       "--gpu: none, dcgm, amd-smi or amd-device-metrics: %s",
			       r->gpu);
	(void)snprintf(pue, sizeof(pue), "%.6g", r->pue);
	(void)snprintf(
		window, sizeof(window), "%llus",
		(unsigned long long)((WINDOW_OF_SCRAPES * r->scrape_interval_ms + 999) /
				     1000));
	(void)snprintf(options, sizeof(options), " --pue=%s --gpu=%s%s%.16s", pue,
		       r->gpu, *r->zone ? " --country-code=" : "", r->zone);
	struct word words[8] = {{"@PUE@", pue},
				{"@WINDOW@", window},
				{"@OPTIONS@", options},
				{"@ZONE@", r->zone}};
	int rc = put_section(out, prometheus_rules_in, "head", words, 4, err);
	if (rc == 0)
		rc = put_section(out, prometheus_rules_in, r->gpu, words, 4, err);
	if (rc == 0 && *r->zone)
		rc = put_zone(r, words, 4, out, err);
	else if (rc == 0)
		rc = put_section(out, prometheus_rules_in, "factor", words, 4, err);
	return rc;
}

const char *prometheus_alerts(void)
{
	return prometheus_alerts_yaml;
}

int prometheus_relabel(const char *exporter, struct buf *out, struct err *err)
{
	return put_section(out, prometheus_relabel_in, exporter, NULL, 0, err);
}

int prometheus_scrape(const char *const *targets, size_t count, const char *cluster,
		      struct buf *out, struct err *err)
{
	buf_puts(out,
		 "# 15 to 60 s are good. ceemsd knows prometheus by the "
		 "web-config.yaml of "
		 "\n"
		 "# `ceems_tool config create-web-config --user prometheus`, which "
		 "prints "
		 "the\n"
		 "# password: into the file below, that Prometheus alone can read.\n"
		 "scrape_configs:\n"
		 "  - job_name: ceems\n"
		 "    scrape_interval: 30s\n"
		 "    # scheme: https with tls_server_config in web-config.yaml\n"
		 "    scheme: http\n"
		 "    basic_auth:\n"
		 "      username: prometheus\n"
		 "      password_file: /etc/prometheus/ceems.password\n"
		 "    sample_limit: 200000\n"
		 "    static_configs:\n"
		 "      - targets:\n");
	for (size_t i = 0; i < count; i++) {
		if (!*targets[i] || strpbrk(targets[i], "/ \t\n"))
			return err_set(err, -EINVAL, "not host:port: %s", targets[i]);
		buf_puts(out, "          - ");
		buf_put_json(out, targets[i], strlen(targets[i]));
		buf_puts(out, "\n");
	}
	if (cluster) {
		buf_puts(out, "        labels:\n          cluster: ");
		buf_put_json(out, cluster, strlen(cluster));
		buf_puts(out, "\n");
	}
	return buf_error(out);
}
