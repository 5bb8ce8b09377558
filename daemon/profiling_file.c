/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of the peer's profiler: what has a counterpart here acts, the sizes
 * of its caches and maps have none. */
#include "daemon/profiling_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/cleanup.h"
#include "lib/conf/yaml_rows.h"
#include "lib/fs.h"

#define NO_EFFECT .note = "accepted, no effect"

static const struct yaml_row ebpf_rows[] = {
	YAML_RANGE("collect_interval", ms, struct profiling_file, interval_ms, 0, 1000,
		   3600000),
	YAML_RANGE("sample_rate", number, struct profiling_file, hz, 0, 1, 1000),
	YAML_SKIPPED("discover_interval", NO_EFFECT),
	YAML_SKIPPED("collect_user_profile", NO_EFFECT),
	YAML_SKIPPED("collect_kernel_profile", NO_EFFECT),
	YAML_SKIPPED("python_enabled", NO_EFFECT),
	YAML_SKIPPED("demangle", NO_EFFECT),
	YAML_SKIPPED("build_id_cache_size", NO_EFFECT),
	YAML_SKIPPED("pid_cache_size", NO_EFFECT),
	YAML_SKIPPED("pid_map_size", NO_EFFECT),
	YAML_SKIPPED("same_file_cache_size", NO_EFFECT),
	YAML_SKIPPED("symbols_map_size", NO_EFFECT),
	YAML_SKIPPED("cache_rounds", NO_EFFECT),
	YAML_END,
};

static const struct yaml_row bearer_rows[] = {
	YAML_SKIPPED("type"),
	YAML_PATH("credentials_file", struct profiling_file, token_file),
	YAML_REFUSED("credentials"),
	YAML_END,
};

static const struct yaml_row store_tls_rows[] = {
	YAML_PATH("ca_file", struct profiling_file, ca_file),
	YAML_REFUSED("insecure_skip_verify"),
	YAML_END,
};

static const struct yaml_row pyroscope_rows[] = {
	YAML_TEXT("url", struct profiling_file, url),
	YAML_SKIPPED("external_labels", .note = "accepted, no effect: labels are those "
						"that the load balancer proves"),
	YAML_SAME("authorization", bearer_rows),
	YAML_SAME("tls_config", store_tls_rows),
	YAML_SKIPPED("follow_redirects", NO_EFFECT),
	YAML_SKIPPED("enable_http2", NO_EFFECT),
	YAML_REFUSED("basic_auth"),
	YAML_REFUSED("oauth2"),
	YAML_REFUSED("proxy_url"),
	YAML_REFUSED("http_headers"),
	YAML_END,
};

static const struct yaml_row profiler_rows[] = {
	YAML_SAME("ebpf", ebpf_rows),
	YAML_SAME("pyroscope", pyroscope_rows),
	YAML_END,
};

static const struct yaml_row file_rows[] = {
	YAML_SAME("ceems_profiler", profiler_rows),
	YAML_END,
};

int profiling_file_parse(const char *text, size_t len, const char *file, bool expand,
			 struct arena *arena, struct buf *notes,
			 struct profiling_file *ret, struct err *err)
{
	struct yaml_reader r = {.w = {.file = file, .err = err},
				.arena = arena,
				.expand = expand,
				.notes = notes,
				.config = ret};

	return yaml_rows_read(&r, text, len, PROFILING_FILE_MAX, "the file", file_rows,
			      ret);
}

static int replace_text(char **option, const char *text)
{
	if (!text || **option)
		return 0;
	char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*option);
	*option = copy;
	return 0;
}

/* What the command line or our own file says of the store wins. */
static int apply_profiling_file(struct options *o, const struct profiling_file *f)
{
	int rc = replace_text(&o->profiles_url, f->url);

	if (f->hz)
		o->profiling_hz = f->hz;
	if (o->profiling_hz > o->profiling_max_hz)
		o->profiling_max_hz = o->profiling_hz;
	if (f->interval_ms)
		o->profiling_interval_ms = f->interval_ms;
	rc = rc ? rc : replace_text(&o->profiles_token_file, f->token_file);
	return rc ? rc : replace_text(&o->profiles_ca_file, f->ca_file);
}

static int read_file(struct options *o, struct buf *warnings, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;
	struct profiling_file f = {.hz = 0};
	struct arena arena = {0};
	int rc = fs_read_buf_at(AT_FDCWD, o->profiling_file, PROFILING_FILE_MAX, &text,
				err);

	if (rc == 0)
		rc = profiling_file_parse(text.data ? text.data : "", text.len,
					  o->profiling_file, o->profiling_expand,
					  &arena, warnings, &f, err);
	if (rc == 0 && apply_profiling_file(o, &f) < 0)
		rc = err_set(err, -ENOMEM, "out of memory");
	arena_done(&arena);
	return rc;
}

int profiling_apply(struct options *o, struct buf *warnings, struct err *err)
{
	if (!o->profiling_ebpf)
		return 0;
	/* as there: with a variable those who have it, else everybody */
	if (o->profiling_policy == PROFILING_DENY)
		o->profiling_policy = o->profiling_env_vars.count ? PROFILING_ALLOW
								  : PROFILING_ALWAYS;
	if (replace_text(&o->profiles_spool, "/var/spool/ceems/profiles") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return *o->profiling_file ? read_file(o, warnings, err) : 0;
}
