/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/child_link.h"
#include "daemon/sources/names/gpu_names.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "test/unit/energy_tree.h"

extern const struct collector collector_gpu;
static const struct collector *const c = &collector_gpu;

/* What ceems-gpu has said of two devices: nothing of it runs here. */
static union said {
	struct child_gpu m;
	char bytes[sizeof(struct child_gpu) +
		   CHILD_GPU_POINTS_MAX * sizeof(struct child_gpu_point)];
} said[2];

static union {
	struct child_gpu_instances m;
	char bytes[sizeof(struct child_gpu_instances) +
		   3 * sizeof(struct child_gpu_instance)];
} instances;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	if (kind == CHILD_GPU_INSTANCES) {
		const struct child_head *h = &instances.m.head;
		if (!h->bytes || strcmp(h->name, name) != 0)
			return -EAGAIN;
		assert_int_equal(child_msg_check(&instances, h->bytes, NULL), kind);
		memcpy(buf, &instances, h->bytes);
		return (int)h->bytes;
	}
	assert_int_equal(kind, CHILD_GPU);
	for (size_t i = 0; i < 2; i++) {
		const struct child_head *h = &said[i].m.head;
		if (!h->bytes || strcmp(h->name, name) != 0)
			continue;
		assert_true(h->bytes <= size);
		assert_int_equal(child_msg_check(&said[i], h->bytes, NULL), CHILD_GPU);
		memcpy(buf, &said[i], h->bytes);
		return (int)h->bytes;
	}
	return -EAGAIN;
}

/* A GPU instance with two compute instances, and one with one */
static void say_instances(void)
{
	struct child_gpu_instances *m = &instances.m;

	m->index = 1;
	m->slices = 7;
	m->read_ns = tree_boot_ns;
	snprintf(m->uuid, sizeof(m->uuid), "GPU-1");
	for (uint32_t i = 0; i < 3; i++) {
		struct child_gpu_instance *g = &m->items[i];
		*g = (struct child_gpu_instance){.gi = i < 2 ? 1 : 5,
						 .ci = i < 2 ? i : 0,
						 .slices = i < 2 ? 4 : 3,
						 .ci_slices = i < 2 ? 2 : 3,
						 .have = 3};
		g->value[CHILD_GPU_INSTANCE_USED] = g->gi << 30;
		g->value[CHILD_GPU_INSTANCE_TOTAL] = 40ull << 30;
		g->profile.have = i < 2 ? 1u << CHILD_GPU_SM : 0;
		g->profile.ppm[CHILD_GPU_SM] = 500000;
		snprintf(g->uuid, sizeof(g->uuid), "MIG-%u", i);
	}
	child_msg_head(&m->head, CHILD_GPU_INSTANCES, "gpu1", 3, sizeof(instances));
}

uint64_t __wrap_child_link_starts(struct child_link *l);
uint64_t __wrap_child_link_starts(struct child_link *l)
{
	(void)l;
	return 3;
}

static void say_device(unsigned i)
{
	struct child_gpu *m = &said[i].m;
	char name[16];

	m->index = i;
	m->minor = i;
	m->read_ns = tree_boot_ns;
	snprintf(m->uuid, sizeof(m->uuid), "GPU-%u", i);
	snprintf(m->pci, sizeof(m->pci), "00000000:0%u:00.0", i + 1);
	snprintf(m->model, sizeof(m->model), "NVIDIA Fake \"100\"");
	snprintf(name, sizeof(name), "gpu%u", i);
	child_msg_head(&m->head, CHILD_GPU, name, m->head.count,
		       sizeof(*m) + m->head.count * sizeof(m->points[0]));
}

/* One more reading of the counter, now */
static void say_energy(unsigned i, uint64_t uj)
{
	struct child_gpu *m = &said[i].m;

	m->points[m->head.count++] = (struct child_gpu_point){tree_boot_ns, uj};
	m->serial++;
	say_device(i);
}

static void say_value(unsigned i, enum child_gpu_value which, uint64_t v)
{
	said[i].m.value[which] = v;
	said[i].m.have |= 1ull << which;
}

static void start_tree(struct energy_tree *t)
{
	static int anything;
	memset(said, 0, sizeof(said));
	memset(&instances, 0, sizeof(instances));
	tree_init(t, "test/fixture/redfish");
	t->node.env.gpu = (struct child_link *)&anything;
	tree_open(t, c);
}

static void what_a_device_tells_is_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	say_value(0, CHILD_GPU_POWER, 312500000);
	say_value(0, CHILD_GPU_POWER_LIMIT, 700000000);
	say_value(0, CHILD_GPU_BUSY, 970000);
	say_value(0, CHILD_GPU_MEMORY_BUSY, 410000);
	say_value(0, CHILD_GPU_MEMORY_USED, 1048576000);
	say_value(0, CHILD_GPU_MEMORY_TOTAL, 85899345920);
	say_value(0, CHILD_GPU_TEMPERATURE, 61000);
	say_value(0, CHILD_GPU_SM_CLOCK, 1980000000);
	say_value(0, CHILD_GPU_MEMORY_CLOCK, 2619000000);
	say_value(0, CHILD_GPU_SM_COUNT, 132);
	say_value(0, CHILD_GPU_POWER_NOW, 320000000);
	say_value(0, CHILD_GPU_MEMORY_TEMPERATURE, 72000);
	say_value(0, CHILD_GPU_SLOWDOWN_TEMPERATURE, 89000);
	say_value(0, CHILD_GPU_SHUTDOWN_TEMPERATURE, 95000);
	say_value(0, CHILD_GPU_BUSY_NS, 12500000000);
	say_value(0, CHILD_GPU_CLOCK_REASONS, 1u << CHILD_GPU_REASON_POWER_CAP);
	say_value(0, CHILD_GPU_POWER_THROTTLED, 2500000000);
	say_value(0, CHILD_GPU_THERMAL_THROTTLED, 0);
	say_value(0, CHILD_GPU_ECC_CORRECTED, 5);
	say_value(0, CHILD_GPU_ECC_UNCORRECTED, 0);
	say_value(0, CHILD_GPU_ECC_CORRECTED_EVER, 15);
	say_value(0, CHILD_GPU_ROWS_UNCORRECTED, 1);
	say_value(0, CHILD_GPU_ROWS_PENDING, 1);
	say_value(0, CHILD_GPU_ROWS_FAILED, 0);
	say_value(0, CHILD_GPU_XIDS, 2);
	say_value(0, CHILD_GPU_XID_LAST, 79);
	say_value(0, CHILD_GPU_PCIE_REPLAYS, 3);
	say_value(0, CHILD_GPU_PCIE_TX, 4096);
	say_value(0, CHILD_GPU_LINK_RX, 7168);
	say_value(0, CHILD_GPU_ENCODER_BUSY, 20000);
	said[0].m.profile.have = 1u << CHILD_GPU_SM | 1u << CHILD_GPU_TENSOR;
	said[0].m.profile.ppm[CHILD_GPU_SM] = 812345;
	said[0].m.profile.ppm[CHILD_GPU_FP64] = 1; /* it is not told */
	say_energy(0, 1000000000);
	said[1].m.mig = 1;
	say_instances();
	say_value(1, CHILD_GPU_POWER, 60000000);
	say_device(1);
	tree_sample_after(&t, 0);
	tree_turn_ms(1000);
	say_energy(0, 1312500000);
	tree_sample_after(&t, 0);
	node_golden(&t.node, c, "test/golden/collector_gpu.prom");
	tree_done(&t, c);
}

/* Lists of names: one in a line */
static bool is_published(const char *name, size_t len)
{
	char text[16384], line[128];
	ssize_t n = fs_read_at(AT_FDCWD, "test/golden/gpu_exporter_names", text,
			       sizeof(text) - 1, NULL);
	assert_true(n > 0);
	text[n] = '\0';
	snprintf(line, sizeof(line), "\n%.*s\n", (int)len, name);
	return strstr(text, line);
}

/* Adds the samples that are not ours to names. */
static void add_named_samples(struct energy_tree *t, struct buf *names)
{
	assert_int_equal(node_collect(&t->node, c), 0);
	const char *line, *at = t->node.text.data;
	size_t n;
	while (scan_line(&at, t->node.text.data + t->node.text.len, &line, &n)) {
		if (!n || line[0] == '#' || strncmp(line, "ceems_", 6) == 0)
			continue;
		if (!is_published(line, strcspn(line, "{ ")))
			fail_msg("%.*s", (int)n, line);
		buf_put(names, line, n);
		buf_putc(names, '\n');
	}
}

static void names_of_other_exporters_are_those_that_they_publish(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	t.node.options.gpu_dcgm_names = true;
	c->close(t.node.state);
	node_open(&t.node, c);
	for (unsigned i = 0; i < CHILD_GPU_VALUES; i++)
		say_value(0, (enum child_gpu_value)i, i + 1);
	say_value(0, CHILD_GPU_POWER, 312500000);
	say_value(0, CHILD_GPU_MEMORY_USED, 1048576000);
	say_value(0, CHILD_GPU_MEMORY_TOTAL, 85899345920);
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++)
		said[0].m.profile.ppm[i] = 100000 * (i + 1);
	said[0].m.profile.have = (1u << CHILD_GPU_FIGURES) - 1;
	said[0].m.profile.at_ns = tree_boot_ns;
	say_energy(0, 1312500000);
	said[1].m.mig = 1;
	say_instances();
	say_value(1, CHILD_GPU_POWER, 60000000);
	say_device(1);
	auto_buf struct buf names = BUF_INIT;
	add_named_samples(&t, &names);
	memset(&said[1], 0, sizeof(said[1]));
	said[0].m.vendor = CHILD_GPU_AMD;
	add_named_samples(&t, &names);
	golden_equal(&names, "test/golden/collector_gpu_names.txt");
	tree_done(&t, c);
}

static void a_listener_on_the_port_of_dcgm_exporter_is_seen(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/redfish");
	assert_false(gpu_names_are_taken(t.node.env.procfd));
	tree_mkdir(&t, "../proc/net");
	tree_write(&t, "../proc/net/tcp",
		   "  sl  local_address rem_address   st tx_queue\n"
		   "   0: 0100007F:1F90 0100007F:24B8 0A 0\n"
		   "   1: 0100007F:24B8 0100007F:1F90 01 0\n");
	assert_false(gpu_names_are_taken(t.node.env.procfd));
	tree_write(&t, "../proc/net/tcp6",
		   "  sl  local_address rem_address   st tx_queue\n"
		   "   0: 00000000000000000000000000000000:24B8 "
		   "00000000000000000000000000000000:0000 0A 0\n");
	assert_true(gpu_names_are_taken(t.node.env.procfd));
	tree_done(&t, c);
}

static bool scrape_has(struct energy_tree *t, const char *text)
{
	assert_int_equal(node_collect(&t->node, c), 0);
	return strstr(t->node.text.data, text);
}

static void a_device_that_hangs_has_no_gauges_after_a_while(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	say_value(0, CHILD_GPU_POWER, 300000000);
	say_energy(0, 5);
	tree_sample_after(&t, 9000);
	assert_true(scrape_has(&t, "ceems_gpu_power_watts{"));
	tree_sample_after(&t, 2000);
	assert_false(scrape_has(&t, "ceems_gpu_power_watts{"));
	assert_true(scrape_has(&t, "ceems_gpu_info{"));
	assert_true(scrape_has(&t, "ceems_gpu_energy_joules_total{"));
	tree_done(&t, c);
}

static void a_counter_goes_on_over_another_child_and_is_reset_by_a_driver(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	say_energy(0, 1000000);
	tree_sample_after(&t, 100);
	/* a new child begins its own list of readings */
	said[0].m.head.count = 0;
	said[0].m.serial = 0;
	tree_turn_ms(2000);
	say_energy(0, 41000000);
	tree_sample_after(&t, 0);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_ENERGY, "0", 0).value,
			 40000000);
	/* the driver was loaded anew */
	tree_turn_ms(1000);
	say_energy(0, 2000000);
	tree_turn_ms(1000);
	say_energy(0, 5000000);
	tree_sample_after(&t, 0);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_ENERGY, "0", 0).value,
			 43000000);
	assert_true(scrape_has(&t, "ceems_energy_source_resets_total{"
				   "source=\"gpu\"} 1"));
	tree_done(&t, c);
}

static void what_was_taken_in_a_long_pause_is_nobodys(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	say_energy(0, 1000000);
	tree_turn_ms(100);
	say_energy(0, 3000000);
	tree_sample_after(&t, 100);
	said[0].m.head.count = 0;
	said[0].m.serial = 0;
	tree_turn_ms(60000);
	say_energy(0, 900000000);
	tree_sample_after(&t, 0);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_ENERGY, "0", 0).value,
			 2000000);
	assert_true(
		scrape_has(&t, "ceems_energy_source_resets_total{source=\"gpu\"} 1"));
	tree_done(&t, c);
}

static void power_counts_where_there_is_no_counter(void **state)
{
	(void)state;
	struct energy_tree t;
	start_tree(&t);
	say_value(0, CHILD_GPU_POWER, 250000000);
	say_energy(0, 5);
	say_value(1, CHILD_GPU_POWER, 60000000);
	say_device(1);
	tree_sample_after(&t, 0);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_POWER, "0", 0).domain,
			 SOURCE_DOMAIN_NONE);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_POWER, "1", 1).domain,
			 SOURCE_DOMAIN_GPU);
	tree_done(&t, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_device_tells_is_the_golden_scrape),
		cmocka_unit_test(names_of_other_exporters_are_those_that_they_publish),
		cmocka_unit_test(a_listener_on_the_port_of_dcgm_exporter_is_seen),
		cmocka_unit_test(a_device_that_hangs_has_no_gauges_after_a_while),
		cmocka_unit_test(
			a_counter_goes_on_over_another_child_and_is_reset_by_a_driver),
		cmocka_unit_test(what_was_taken_in_a_long_pause_is_nobodys),
		cmocka_unit_test(power_counts_where_there_is_no_counter),
	};
	return cmocka_run_group_tests_name("collector_gpu_test", tests, NULL, NULL);
}
