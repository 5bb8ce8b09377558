/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/ipmi.h"

#include "daemon/sources/ipmi_dcmi.h"
#include "daemon/sources/ipmi_lan.h"
#include "test/unit/ipmi_fake.h"

static uint64_t clock_ns;

static uint64_t clock_now(void)
{
	return clock_ns;
}

static const struct env env = {
	.devfd = -1, .boottime_ns = clock_now, .ipmi = &fake_ops};

static struct ipmi open_fake(void)
{
	struct ipmi dev;

	clock_ns = 1000 * NSEC_PER_SEC;
	fake_reset(&clock_ns);
	assert_int_equal(ipmi_open(&env, 0, &dev, NULL), 0);
	return dev;
}

static int ask(struct ipmi *dev, struct ipmi_power *ret, struct err *err)
{
	struct ipmi_request req;
	struct ipmi_reply reply;

	ipmi_dcmi_power_request(&req);
	int rc = ipmi_ask(dev, &req, IPMI_DEADLINE_MS, &reply, err);
	return rc ? rc : ipmi_dcmi_power(reply.data, reply.len, ret, err);
}

static void a_good_reading_is_watts(void **state)
{
	static const uint8_t wanted[] = {0xdc, 0x01, 0x00, 0x00};
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	(void)state;

	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_int_equal(bmc.last.netfn, 0x2c);
	assert_int_equal(bmc.last.cmd, 0x02);
	assert_int_equal(bmc.last.len, sizeof(wanted));
	assert_memory_equal(bmc.last.data, wanted, sizeof(wanted));
	assert_int_equal(p.current_w, 312);
	assert_int_equal(p.min_w, 280);
	assert_int_equal(p.max_w, 400);
	assert_int_equal(p.avg_w, 300);
	assert_int_equal(p.timestamp_s, 0x675c2f00);
	ipmi_close(&dev);
	ipmi_close(&dev);
	assert_int_equal(bmc.closed, 1);
	assert_int_equal(bmc.events, 0);
}

static void the_device_has_several_names(void **state)
{
	static const char *const names[] = {"ipmi3", "ipmi/3", "ipmidev/3"};
	struct err err;
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		struct ipmi dev;
		fake_reset(&clock_ns);
		snprintf(bmc.path, sizeof(bmc.path), "%s", names[i]);
		assert_int_equal(ipmi_open(&env, 3, &dev, &err), 0);
		assert_string_equal(dev.path, names[i]);
		assert_int_equal(ipmi_open(&env, 0, &dev, &err), -ENODEV);
	}
	struct ipmi dev;
	fake_reset(&clock_ns);
	bmc.open_rc = -EACCES;
	assert_int_equal(ipmi_open(&env, 0, &dev, &err), -EACCES);
	assert_string_equal(err.text, "ipmi0: Permission denied");
}

static void a_slow_bmc_is_waited_for(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	(void)state;

	bmc.slow_ms = 3000;
	uint64_t then = clock_ns;
	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_true(clock_ns == then + 3000 * NSEC_PER_MSEC);
}

static void a_device_that_never_answers_has_a_deadline(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	struct err err;
	(void)state;

	bmc.mute = true;
	uint64_t then = clock_ns;
	assert_int_equal(ask(&dev, &p, &err), -ETIMEDOUT);
	assert_string_equal(err.text, "ipmi0: no reply within 5000 ms");
	uint64_t took_ms = (clock_ns - then) / NSEC_PER_MSEC;
	assert_true(took_ms >= IPMI_DEADLINE_MS && took_ms <= IPMI_DEADLINE_MS + 2);
	bmc.mute = false;
	assert_int_equal(ask(&dev, &p, &err), 0);
}

/* the reply that came too late says 200 W, the next one 312 W */
static void late_answer(const struct fake_message *request, struct fake_message *reply)
{
	*reply = fake_reply_to(request, good_power, sizeof(good_power));
	if (bmc.sent == 1) {
		reply->at_ns += 7 * NSEC_PER_SEC;
		reply->data[2] = 200;
		reply->data[3] = 0;
	}
}

static void the_late_reply_of_a_former_request_is_dropped(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	(void)state;

	bmc.answer = late_answer;
	assert_int_equal(ask(&dev, &p, NULL), -ETIMEDOUT);
	/* it comes while nobody waits */
	clock_ns += 10 * NSEC_PER_SEC;
	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_int_equal(p.current_w, 312);
	assert_true(dev.late == 1);
	/* it comes while the next one is waited for */
	dev = open_fake();
	bmc.answer = late_answer;
	assert_int_equal(ask(&dev, &p, NULL), -ETIMEDOUT);
	bmc.slow_ms = 4000;
	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_int_equal(p.current_w, 312);
	assert_true(dev.late == 1);
}

static void odd_answer(const struct fake_message *request, struct fake_message *reply)
{
	struct fake_message m = fake_reply_to(request, good_power, sizeof(good_power));
	struct fake_message odd = m;

	odd.data[2] = 200;
	odd.id++;
	fake_push(&odd); /* another id */
	odd.id = request->id;
	odd.cmd = 0x03;
	fake_push(&odd); /* of another command */
	odd.cmd = m.cmd;
	odd.netfn = request->netfn;
	fake_push(&odd); /* no reply */
	odd.netfn = m.netfn;
	odd.type = IPMI_ASYNC_EVENT_RECV_TYPE;
	fake_push(&odd);
	odd.type = IPMI_CMD_RECV_TYPE;
	fake_push(&odd);
	odd.type = m.type;
	odd.len = 0;
	fake_push(&odd); /* without a completion code */
	odd.len = 300;
	fake_push(&odd); /* longer than any */
	*reply = m;
}

static void only_the_reply_to_the_request_is_taken(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	(void)state;

	bmc.answer = odd_answer;
	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_int_equal(p.current_w, 312);
	assert_int_equal(bmc.queued, 0);
}

static void ids_are_never_the_same_twice(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	long last = 0;
	(void)state;

	for (int i = 0; i < 10; i++) {
		assert_int_equal(ask(&dev, &p, NULL), 0);
		assert_true(bmc.last.id > last);
		last = bmc.last.id;
	}
	dev.next_id = INT32_MAX;
	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_int_equal(ask(&dev, &p, NULL), 0);
	assert_int_equal(bmc.last.id, 1);
}

static void flood_answer(const struct fake_message *request, struct fake_message *reply)
{
	(void)reply;
	struct fake_message odd = fake_reply_to(request, good_power, 19);

	odd.id += 1000;
	for (int i = 0; i < 79; i++)
		fake_push(&odd);
}

static void a_flood_of_other_messages_ends(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	(void)state;

	bmc.answer = flood_answer;
	assert_int_equal(ask(&dev, &p, NULL), -EBADMSG);
}

static void a_device_that_vanishes_is_told(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_power p;
	struct err err;
	(void)state;

	bmc.gone = true;
	assert_int_equal(ask(&dev, &p, &err), -ENODEV);
	assert_string_equal(err.text, "ipmi0: No such device");
	ipmi_close(&dev);
	assert_int_equal(ask(&dev, &p, &err), -ENODEV);
}

static int decode(const uint8_t *data, size_t len, struct err *err)
{
	struct ipmi_power p = {.current_w = 77};
	int rc = ipmi_dcmi_power(data, len, &p, err);

	if (rc < 0)
		assert_int_equal(p.current_w, 77);
	return rc;
}

static void completion_codes_are_never_watts(void **state)
{
	static const struct {
		uint8_t code;
		int rc;
		const char *text;
	} cases[] = {{0xc1, -EOPNOTSUPP,
		      "the BMC says 0xc1: it does not support the command"},
		     {0xc3, -ETIMEDOUT, "the BMC says 0xc3: it timed out"},
		     {0xd4, -EACCES, "the BMC says 0xd4: not allowed from here"},
		     {0xc0, -EBUSY, "the BMC says 0xc0: it is busy"},
		     {0xff, -EIO, "the BMC says 0xff"},
		     {0x80, -EIO, "the BMC says 0x80"},
		     {0x01, -EIO, "the BMC says 0x01"}};
	struct err err;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t reply[19];
		memcpy(reply, good_power, sizeof(reply));
		reply[0] = cases[i].code;
		/* alone, as they come, and with watts behind it */
		assert_int_equal(decode(reply, 1, &err), cases[i].rc);
		assert_string_equal(err.text, cases[i].text);
		assert_int_equal(decode(reply, 19, &err), cases[i].rc);
	}
}

static void wrong_lengths_are_refused(void **state)
{
	uint8_t reply[64] = {0};
	struct err err;
	(void)state;

	memcpy(reply, good_power, sizeof(good_power));
	for (size_t len = 0; len <= sizeof(reply); len++)
		assert_int_equal(decode(reply, len, &err), len == 19 ? 0 : -EBADMSG);
	reply[1] = 0xdd;
	assert_int_equal(decode(reply, 19, &err), -EBADMSG);
	assert_string_equal(err.text, "reply of group 0xdd, DCMI is 0xdc");
}

static void impossible_watts_are_refused(void **state)
{
	uint8_t reply[19];
	struct ipmi_power p;
	struct err err;
	(void)state;

	memcpy(reply, good_power, sizeof(reply));
	reply[2] = reply[3] = 0;
	assert_int_equal(decode(reply, 19, &err), -ERANGE);
	assert_string_equal(err.text, "the BMC says 0 W");
	reply[2] = reply[3] = 0xff;
	assert_int_equal(decode(reply, 19, &err), -ERANGE);
	assert_string_equal(err.text, "the BMC says 65535 W");
	reply[2] = 0xfe;
	assert_int_equal(ipmi_dcmi_power(reply, 19, &p, &err), 0);
	assert_int_equal(p.current_w, 65534);
	/* others cost only themselves */
	memset(reply + 4, 0xff, 2);
	memset(reply + 8, 0, 2);
	assert_int_equal(ipmi_dcmi_power(reply, 19, &p, &err), 0);
	assert_int_equal(p.min_w, 0);
	assert_int_equal(p.max_w, 400);
	assert_int_equal(p.avg_w, 0);
}

static void a_bmc_that_does_not_measure_has_no_watts(void **state)
{
	uint8_t reply[19];
	struct err err;
	(void)state;

	memcpy(reply, good_power, sizeof(reply));
	reply[18] = 0;
	assert_int_equal(decode(reply, 19, &err), -ENODATA);
	assert_string_equal(err.text, "the BMC does not measure power now");
	reply[18] = 0xbf; /* all but the bit */
	assert_int_equal(decode(reply, 19, &err), -ENODATA);
}

/* A BMC with a LAN on channel 3 */
static uint8_t lan_channel;
static const uint8_t *lan_ipv4, *lan_ipv6;

static void lan_answer(const struct fake_message *q, struct fake_message *reply)
{
	uint8_t data[22] = {0};
	size_t len = 1;

	data[0] = 0xc9;
	if (q->netfn == 0x06 && q->cmd == 0x42) {
		data[0] = 0;
		data[1] = q->data[0];
		data[2] = q->data[0] == lan_channel ? 4 : 5;
		len = 10;
	} else if (q->netfn == 0x0c && q->data[0] == lan_channel && q->data[1] == 3) {
		data[0] = 0;
		data[1] = 0x11;
		if (lan_ipv4)
			memcpy(data + 2, lan_ipv4, 4);
		len = 6;
	} else if (q->netfn == 0x0c && q->data[0] == lan_channel && lan_ipv6 &&
		   q->data[1] == 59 && q->data[2] == 1) {
		data[0] = 0;
		data[1] = 0x11;
		data[2] = 1;
		memcpy(data + 4, lan_ipv6, 16);
		data[20] = 64;
		len = 22;
	} else if (q->netfn == 0x0c && lan_ipv6 && q->data[1] >= 56) {
		data[0] = 0; /* not in use */
		data[21] = 1;
		len = q->data[2] < 4 ? 22 : 1;
	}
	*reply = fake_reply_to(q, data, len);
}

static void the_address_of_the_bmc_is_found(void **state)
{
	static const uint8_t v4[] = {10, 1, 2, 3},
			     v6[] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0,
				     0,    0,    0,    0,    0, 0, 0, 0x42},
			     link_local[] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0,
					     0,    0,    0, 0, 0, 0, 0, 1};
	struct ipmi_lan lan;
	struct err err;
	(void)state;

	struct ipmi dev = open_fake();
	bmc.answer = lan_answer;
	lan_channel = 3;
	lan_ipv4 = v4;
	lan_ipv6 = v6;
	assert_int_equal(ipmi_lan_address(&dev, 5000, &lan, &err), 0);
	assert_string_equal(lan.ipv4, "10.1.2.3");
	assert_string_equal(lan.ipv6, "2001:db8::42");
	lan_ipv6 = NULL;
	assert_int_equal(ipmi_lan_address_of(&env, 0, 5000, &lan, &err), 0);
	assert_string_equal(lan.ipv4, "10.1.2.3");
	assert_string_equal(lan.ipv6, "");
	assert_int_equal(bmc.opened - bmc.closed, 1);
	lan_ipv4 = NULL;
	lan_ipv6 = v6;
	assert_int_equal(ipmi_lan_address(&dev, 5000, &lan, &err), 0);
	assert_string_equal(lan.ipv4, "");
	assert_string_equal(lan.ipv6, "2001:db8::42");
	lan_ipv6 = link_local;
	assert_int_equal(ipmi_lan_address(&dev, 5000, &lan, &err), -ENODATA);
	lan_channel = 0;
	assert_int_equal(ipmi_lan_address(&dev, 5000, &lan, &err), -ENODATA);
	assert_string_equal(err.text, "ipmi0: the BMC reports no network address");
}

static void one_deadline_holds_for_all_that_is_asked(void **state)
{
	struct ipmi dev = open_fake();
	struct ipmi_lan lan;
	struct err err;
	(void)state;

	bmc.mute = true;
	uint64_t then = clock_ns;
	assert_int_equal(ipmi_lan_address(&dev, 3000, &lan, &err), -ETIMEDOUT);
	assert_true(clock_ns - then <= 3002 * NSEC_PER_MSEC);
	assert_int_equal(bmc.sent, 1);
	bmc.mute = false;
	bmc.answer = lan_answer;
	lan_channel = 0;
	bmc.slow_ms = 500;
	then = clock_ns;
	assert_int_equal(ipmi_lan_address(&dev, 3000, &lan, &err), -ETIMEDOUT);
	assert_true(clock_ns - then <= 3002 * NSEC_PER_MSEC);
}

static void lan_replies_of_wrong_form_are_no_address(void **state)
{
	uint8_t reply[64] = {0x00, 0x11, 10, 1, 2, 3};
	char v4[INET_ADDRSTRLEN], v6[INET6_ADDRSTRLEN];
	(void)state;

	for (size_t len = 0; len < sizeof(reply); len++)
		assert_int_equal(ipmi_lan_ipv4(reply, len, v4),
				 len == 6 ? 0 : -EBADMSG);
	reply[0] = 0xc1;
	assert_int_equal(ipmi_lan_ipv4(reply, 6, v4), -EOPNOTSUPP);
	memset(reply, 0, sizeof(reply));
	assert_int_equal(ipmi_lan_ipv4(reply, 6, v4), -ENODATA);
	memset(reply + 2, 0xff, 4);
	assert_int_equal(ipmi_lan_ipv4(reply, 6, v4), -ENODATA);
	memset(reply, 0, sizeof(reply));
	assert_int_equal(ipmi_lan_ipv6(reply, 22, v6), -ENODATA);
	reply[4] = 0x20;
	for (size_t len = 0; len < sizeof(reply); len++)
		assert_int_equal(ipmi_lan_ipv6(reply, len, v6),
				 len == 22 ? 0 : -EBADMSG);
	reply[21] = 2; /* deprecated or pending */
	assert_int_equal(ipmi_lan_ipv6(reply, 22, v6), -ENODATA);
	assert_int_equal(ipmi_lan_is_lan(reply, 0), -EBADMSG);
	assert_int_equal(ipmi_lan_is_lan(reply, 2), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_reading_is_watts),
		cmocka_unit_test(the_device_has_several_names),
		cmocka_unit_test(a_slow_bmc_is_waited_for),
		cmocka_unit_test(a_device_that_never_answers_has_a_deadline),
		cmocka_unit_test(the_late_reply_of_a_former_request_is_dropped),
		cmocka_unit_test(only_the_reply_to_the_request_is_taken),
		cmocka_unit_test(ids_are_never_the_same_twice),
		cmocka_unit_test(a_flood_of_other_messages_ends),
		cmocka_unit_test(a_device_that_vanishes_is_told),
		cmocka_unit_test(completion_codes_are_never_watts),
		cmocka_unit_test(wrong_lengths_are_refused),
		cmocka_unit_test(impossible_watts_are_refused),
		cmocka_unit_test(a_bmc_that_does_not_measure_has_no_watts),
		cmocka_unit_test(the_address_of_the_bmc_is_found),
		cmocka_unit_test(one_deadline_holds_for_all_that_is_asked),
		cmocka_unit_test(lan_replies_of_wrong_form_are_no_address),
	};
	return cmocka_run_group_tests_name("ipmi_test", tests, NULL, NULL);
}
