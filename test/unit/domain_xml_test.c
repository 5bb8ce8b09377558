/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/libvirt/domain_xml.h"
#include "test/unit/unit.h"

#define UUID "3f1d2c7a-0000-4000-8000-00000000002a"

static struct err err;

static int parse_text(const char *text, struct domain_xml *ret)
{
	return domain_xml_parse(text, strlen(text), ret, &err);
}

static void uuid_and_devices_are_read(void **state)
{
	(void)state;
	struct domain_xml d;
	assert_int_equal(
		parse_text(
			"<domain type='kvm' id='3'><name>a</name><uuid>" UUID
			"</uuid><devices><hostdev mode='subsystem' type='pci' "
			"managed='yes'><driver name='vfio'/><source><address "
			"domain='0x0000' bus='0x3b' slot='0x00' function='0x1'/>"
			"</source><address type='pci' domain='0x0000' bus='0x05' "
			"slot='0x00' function='0x0'/></hostdev><disk/>"
			"<hostdev mode='subsystem' type='mdev' model='vfio-pci'>"
			"<source><address uuid='4B20D080-1B54-4048-85B3-A6A62D165C01'/>"
			"</source></hostdev><hostdev mode='capabilities' type='misc'/>"
			"<hostdev mode='subsystem' type='usb'><source><address bus='1' "
			"device='2'/></source></hostdev></devices></domain>",
			&d),
		0);
	assert_string_equal(d.uuid, UUID);
	assert_int_equal(d.device_count, 2);
	assert_string_equal(d.devices[0].pci, "0000:3b:00.1");
	assert_int_equal(d.devices[0].share_permille, 1000);
	assert_string_equal(d.devices[1].uuid, "4b20d080-1b54-4048-85b3-a6a62d165c01");
	assert_string_equal(d.devices[1].pci, "");
}

static void entities_and_document_types_are_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"<!DOCTYPE domain [<!ENTITY a 'b'>]><domain><uuid>&a;</uuid></domain>",
		"<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>",
		"<!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><d>&x;</d>",
		"<domain><uuid>&unknown;</uuid></domain>",
	};
	struct domain_xml d = {.uuid = "kept"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(parse_text(texts[i], &d), -EINVAL);
		assert_string_equal(d.uuid, "kept");
	}
}

static void broken_and_foreign_xml_is_an_error(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"x",
		"<domain>",
		"<domain></network>",
		"<network/>",
		"<domain><uuid>not one</uuid></domain>",
		"<domain><uuid>" UUID "0</uuid></domain>",
		"<domain><uuid>3f1d2c7a/0000-4000-8000-00000000002a</uuid></domain>",
	};
	struct domain_xml d;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse_text(texts[i], &d), -EINVAL);
}

static void odd_devices_are_left_out(void **state)
{
	(void)state;
	struct domain_xml d;
	assert_int_equal(
		parse_text(
			"<domain><devices><hostdev mode='subsystem' type='pci'>"
			"<source><address bus='0x100' slot='0' function='0'/></source>"
			"</hostdev><hostdev mode='subsystem' type='pci'><source>"
			"<address bus='1' slot='-1' function='0'/></source></hostdev>"
			"<hostdev mode='subsystem' type='pci'><source><address "
			"bus='1' slot='1'/></source></hostdev><hostdev "
			"mode='subsystem' type='mdev'><source><address uuid='../x'/>"
			"</source></hostdev><hostdev mode='subsystem' type='pci'/>"
			"<hostdev/></devices></domain>",
			&d),
		0);
	assert_int_equal(d.device_count, 0);
	assert_string_equal(d.uuid, "");
}

static void size_depth_and_number_are_bounded(void **state)
{
	(void)state;
	static const char one[] = "<hostdev mode='subsystem' type='pci'><source>"
				  "<address bus='1' slot='1' function='1'/></source>"
				  "</hostdev>";
	struct domain_xml d;
	size_t room = DOMAIN_XML_MAX + 64;
	char *text = malloc(room);
	assert_non_null(text);
	memset(text, ' ', room);
	assert_int_equal(domain_xml_parse(text, DOMAIN_XML_MAX + 1, &d, &err), -EFBIG);

	size_t n = (size_t)snprintf(text, room, "<domain><devices>");
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, room - n, "%s", one);
	(void)snprintf(text + n, room - n, "</devices></domain>");
	assert_int_equal(parse_text(text, &d), 0);
	assert_int_equal(d.device_count, RECORD_DEVICES_MAX);

	for (n = 0; n < 100000; n += 3)
		memcpy(text + n, "<a>", 3);
	text[n] = '\0';
	assert_int_equal(parse_text(text, &d), -EINVAL);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uuid_and_devices_are_read),
		cmocka_unit_test(entities_and_document_types_are_refused),
		cmocka_unit_test(broken_and_foreign_xml_is_an_error),
		cmocka_unit_test(odd_devices_are_left_out),
		cmocka_unit_test(size_depth_and_number_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
