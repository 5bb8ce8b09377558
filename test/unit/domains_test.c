/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains of a list and of events, as records in a real ring. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contrib/libvirt/domains.h"
#include "lib/fs.h"
#include "lib/records/ring.h"
#include "test/unit/adapter_lab.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define UUID "3f1d2c7a-0000-4000-8000-00000000002a"
#define OTHER "3f1d2c7a-0000-4000-8000-00000000002b"
#define NAME "instance-00000042"
#define FIRST "/machine/qemu-1-" NAME ".libvirt-qemu"
#define XML "<domain><uuid>" UUID "</uuid></domain>"

static struct err err;

struct lab {
	char folder[64], ring_path[128], keep[128];
	struct domains_place place;
	struct domains *domains;
	struct ring ring;
	struct record last;
};

static void make_ring(struct lab *l)
{
	bool made;

	if (ring_consumer_open(l->ring_path, RING_SLOTS_MIN, &l->ring, &made, &err) < 0)
		fail_msg("%s", err.text);
}

static void lab_init(struct lab *l, bool ring)
{
	*l = (struct lab){.ring = {.fd = -1}};
	scratch_make(l->folder);
	(void)snprintf(l->ring_path, sizeof(l->ring_path), "%s/ring", l->folder);
	(void)snprintf(l->keep, sizeof(l->keep), "%s/libvirt", l->folder);
	l->place = (struct domains_place){
		.ring = l->ring_path, .run_dir = l->folder, .keep = l->keep};
	l->place.cgroupfd =
		fs_opendir_at(AT_FDCWD, "test/fixture/libvirt/sys/fs/cgroup", &err);
	l->place.procfd = fs_opendir_at(AT_FDCWD, l->folder, &err);
	assert_true(l->place.cgroupfd >= 0 && l->place.procfd >= 0);
	assert_int_equal(cgroup_probe(l->place.cgroupfd, &l->place.layout, &err), 0);
	if (ring)
		make_ring(l);
	l->domains = domains_new(&l->place);
	assert_non_null(l->domains);
}

static void lab_done(struct lab *l)
{
	domains_free(l->domains);
	ring_consumer_close(&l->ring);
	close(l->place.cgroupfd);
	close(l->place.procfd);
	scratch_remove(l->folder);
}

static void see_domain(struct lab *l, const char *uuid, int id, uint32_t cpus,
		       bool before)
{
	struct domain_seen s = {.driver = "qemu",
				.name = NAME,
				.id = id,
				.cpus = cpus,
				.memory_bytes = 64 << 20};

	assert_true(domain_uuid_copy(s.uuid, uuid));
	domains_see(l->domains, &s, before);
}

static bool next_record(struct lab *l)
{
	return take_adapter_record(&l->ring, &l->last);
}

static void start_and_end_become_records(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	see_domain(&l, UUID, 1, 2, false);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_int_equal(l.last.manager, MANAGER_LIBVIRT);
	assert_string_equal(l.last.unit, UUID);
	assert_string_equal(record_cgroup(&l.last, CGROUP_UNIFIED), FIRST);
	assert_string_equal(record_cgroup(&l.last, CGROUP_MEMORY), FIRST);
	assert_null(record_cgroup(&l.last, CGROUP_CPUACCT));
	assert_int_equal(l.last.cpus, 2);
	assert_int_equal(l.last.memory_bytes, 64 << 20);
	assert_int_equal(l.last.flags, 0);
	assert_int_equal(l.last.uid, 0); /* nobody's */
	assert_string_equal(l.last.user, "");
	uint32_t run = l.last.step;
	assert_true(run > 0);
	assert_true(domains_know(l.domains, UUID, 1));

	domains_end(l.domains, UUID, true);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, run);
	assert_int_equal(l.last.flags, RECORD_LAST);
	assert_int_equal(l.last.exit_status, 1 << 8);
	domains_end(l.domains, UUID, true); /* told twice */
	assert_false(next_record(&l));
	lab_done(&l);
}

static void one_without_a_control_group_is_not_told_of(void **state)
{
	(void)state;
	struct lab l;
	struct domains_stats stats;
	lab_init(&l, true);
	see_domain(&l, UUID, 9, 2, false);
	domains_refresh(l.domains);
	domains_stats(l.domains, &stats);
	assert_int_equal(stats.running, 1);
	assert_int_equal(stats.unsent, 1);
	domains_end(l.domains, UUID, false);
	assert_false(next_record(&l));
	lab_done(&l);
}

static void domain_that_is_started_again_is_another_run(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	see_domain(&l, UUID, 1, 2, false);
	assert_true(next_record(&l));
	uint32_t run = l.last.step;
	see_domain(&l, UUID, 2, 2, false); /* its end was missed */
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, run);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_string_equal(l.last.unit, UUID);
	assert_int_not_equal(l.last.step, run);
	lab_done(&l);
}

static void changes_are_told_and_nothing_else(void **state)
{
	(void)state;
	struct lab l;
	struct domain_xml xml = {.device_count = 1};
	struct domain_seen s = {
		.driver = "qemu", .name = NAME, .id = 1, .cpus = 3, .xml = &xml};
	lab_init(&l, true);
	see_domain(&l, UUID, 1, 2, true);
	assert_true(next_record(&l));
	assert_int_equal(l.last.flags, RECORD_RUNNING);
	see_domain(&l, UUID, 1, 2, true);
	domains_refresh(l.domains);
	assert_false(next_record(&l));
	see_domain(&l, UUID, 1, 3, true);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_int_equal(l.last.cpus, 3);

	s.memory_bytes = 64 << 20;
	assert_true(domain_uuid_copy(s.uuid, UUID));
	(void)snprintf(xml.devices[0].pci, sizeof(xml.devices[0].pci), "0000:3b:00.0");
	domains_see(l.domains, &s, true);
	assert_true(next_record(&l));
	assert_int_equal(l.last.device_count, 1);
	assert_string_equal(l.last.devices[0].pci, "0000:3b:00.0");
	domains_see(l.domains, &s, true);
	see_domain(&l, UUID, 1, 3, true); /* without its XML: as before */
	assert_false(next_record(&l));
	lab_done(&l);
}

static void those_that_are_not_in_a_list_have_ended(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	see_domain(&l, UUID, 1, 2, true);
	see_domain(&l, OTHER, 2, 2, true);
	assert_true(next_record(&l) && next_record(&l));
	domains_list_begin(l.domains, 0);
	see_domain(&l, OTHER, 2, 2, true);
	domains_list_end(l.domains, 1); /* of another driver */
	assert_false(next_record(&l));
	domains_list_end(l.domains, 0);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_string_equal(l.last.unit, UUID);
	assert_false(next_record(&l));
	lab_done(&l);
}

static void without_a_ring_it_is_told_later_and_to_a_new_ring_again(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, false);
	see_domain(&l, UUID, 1, 2, false);
	domains_refresh(l.domains);
	make_ring(&l);
	domains_refresh(l.domains);
	assert_true(next_record(&l));
	assert_int_equal(l.last.flags, RECORD_RUNNING); /* for a while by now */
	domains_refresh(l.domains);
	assert_false(next_record(&l));

	struct lab other;
	lab_init(&other, true);
	l.place.ring = other.ring_path;
	domains_free(l.domains);
	l.domains = domains_new(&l.place);
	see_domain(&l, UUID, 1, 2, false);
	domains_refresh(l.domains);
	assert_true(next_record(&other));
	assert_int_equal(other.last.flags, 0);
	/* that ring goes, and the first one is there in its place */
	assert_int_equal(unlink(other.ring_path), 0);
	char spare[160];
	(void)snprintf(spare, sizeof(spare), "%s%s", other.ring_path, RING_SPARE);
	(void)unlink(spare);
	ring_consumer_close(&other.ring);
	make_ring(&other);
	domains_refresh(l.domains);
	assert_true(next_record(&other));
	assert_int_equal(other.last.type, RECORD_STEP_START);
	assert_int_equal(other.last.flags, RECORD_RUNNING);
	lab_done(&other);
	lab_done(&l);
}

static void write_text(const char *folder, const char *path, const char *text)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "%s/%s", folder, path);
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void pid_file_is_believed_if_the_process_is_the_domains(void **state)
{
	(void)state;
	struct lab l;
	char path[128];
	lab_init(&l, true);
	(void)snprintf(path, sizeof(path), "%s/qemu", l.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/77", l.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	write_text(l.folder, "qemu/" NAME ".pid", "77");
	write_text(l.folder, "77/cgroup", "4:memory:" FIRST "\n");
	see_domain(&l, UUID, 1, 2, false);
	assert_true(next_record(&l));
	assert_non_null(record_cgroup(&l.last, CGROUP_MEMORY));
	assert_null(record_cgroup(&l.last, CGROUP_UNIFIED)); /* only what it says */
	domains_end(l.domains, UUID, false);
	assert_true(next_record(&l));

	/* of another pid namespace: the folders' names then */
	write_text(l.folder, "77/cgroup", "4:memory:/machine/qemu-8-x.libvirt-qemu\n");
	see_domain(&l, UUID, 1, 2, false);
	assert_true(next_record(&l));
	assert_string_equal(record_cgroup(&l.last, CGROUP_UNIFIED), FIRST);
	lab_done(&l);
}

/* How often the domain is asked for until nothing has changed */
static unsigned times_asked(struct lab *l)
{
	char uuid[DOMAIN_UUID_SIZE];
	unsigned source, n = 0;

	for (unsigned i = 0; i < 10; i++) {
		domains_look(l->domains);
		while (domains_take_changed(l->domains, &source, uuid)) {
			assert_string_equal(uuid, UUID);
			n++;
		}
	}
	return n;
}

static void domain_whose_vcpus_come_or_go_is_asked_for(void **state)
{
	(void)state;
	static const char group[] = "unified" FIRST;
	const char *const folders[] = {"unified", "unified/machine", group,
				       "unified" FIRST "/vcpu0",
				       "unified" FIRST "/vcpu1"};
	struct lab l;
	struct stat st;
	lab_init(&l, true);
	int folder = l.place.procfd;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(mkdirat(folder, folders[i], 0755), 0);
	write_text(l.folder, "unified/cgroup.controllers", "");
	assert_int_equal(fstatat(folder, group, &st, 0), 0);
	for (size_t i = 3; i < 5; i++)
		assert_int_equal(unlinkat(folder, folders[i], AT_REMOVEDIR), 0);
	if (st.st_nlink == 4) { /* some file systems do not count folders */
		domains_free(l.domains);
		assert_int_equal(dup2(folder, l.place.cgroupfd), l.place.cgroupfd);
		assert_int_equal(cgroup_probe(l.place.cgroupfd, &l.place.layout, &err),
				 0);
		l.domains = domains_new(&l.place);
		see_domain(&l, UUID, 1, 2, false); /* in a list, while it starts */
		for (size_t i = 3; i < 5; i++)
			assert_int_equal(mkdirat(folder, folders[i], 0755), 0);
		see_domain(&l, UUID, 1, 2, false);
		assert_int_equal(times_asked(&l), 0);
		assert_int_equal(unlinkat(folder, folders[4], AT_REMOVEDIR), 0);
		assert_in_range(times_asked(&l), 1, 5); /* libvirt counts it later */
		assert_int_equal(mkdirat(folder, folders[4], 0755), 0);
		assert_in_range(times_asked(&l), 1, 5);
		assert_int_equal(times_asked(&l), 0);
	}
	lab_done(&l);
}

static void hook_tells_the_last_counters(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	assert_int_equal(domains_hook(&l.place, XML, strlen(XML), &err), -ENOENT);
	see_domain(&l, UUID, 1, 2, true);
	assert_true(next_record(&l));
	uint32_t run = l.last.step;
	assert_int_equal(domains_hook(&l.place, XML, strlen(XML), &err), 0);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, run);
	assert_int_equal(l.last.flags, 0);
	assert_int_equal(l.last.counters.source, COUNTERS_CGROUP_V2);
	assert_int_equal(l.last.counters.cpu_user_ns, 6000000000);
	assert_int_equal(l.last.counters.cpu_system_ns, 3000000000);
	assert_int_equal(l.last.counters.memory_peak_bytes, 301000000);
	domains_end(l.domains, UUID, false);
	assert_true(next_record(&l));
	assert_int_equal(domains_hook(&l.place, XML, strlen(XML), &err), -ENOENT);
	assert_int_equal(domains_hook(&l.place, "<domain/>", 9, &err), -EINVAL);
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_and_end_become_records),
		cmocka_unit_test(one_without_a_control_group_is_not_told_of),
		cmocka_unit_test(domain_that_is_started_again_is_another_run),
		cmocka_unit_test(changes_are_told_and_nothing_else),
		cmocka_unit_test(those_that_are_not_in_a_list_have_ended),
		cmocka_unit_test(
			without_a_ring_it_is_told_later_and_to_a_new_ring_again),
		cmocka_unit_test(pid_file_is_believed_if_the_process_is_the_domains),
		cmocka_unit_test(domain_whose_vcpus_come_or_go_is_asked_for),
		cmocka_unit_test(hook_tells_the_last_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
