# SPDX-License-Identifier: GPL-2.0-or-later

# part of libbase
libbase_SRCS += lib/records/child_msg.c
libbase_SRCS += lib/records/claim.c
libbase_SRCS += lib/records/counts_page.c
libbase_SRCS += lib/records/debug_file.c
libbase_SRCS += lib/records/energy_page.c
libbase_SRCS += lib/records/energy_page_writer.c
libbase_SRCS += lib/records/hardware_raw.c
libbase_SRCS += lib/records/hardware_refusal.c
libbase_SRCS += lib/records/hot_page.c
libbase_SRCS += lib/records/job.c
libbase_SRCS += lib/records/job_json.c
libbase_SRCS += lib/records/job_names.c
libbase_SRCS += lib/records/page_file.c
libbase_SRCS += lib/records/profile_record.c
libbase_SRCS += lib/records/record.c
libbase_SRCS += lib/records/report.c
libbase_SRCS += lib/records/report_clock.c
libbase_SRCS += lib/records/report_counts.c
libbase_SRCS += lib/records/ring.c
libbase_SRCS += lib/records/ring_gone.c
libbase_SRCS += lib/records/spool_reader.c
libbase_SRCS += lib/records/spool_segment.c
libbase_SRCS += lib/records/spool_writer.c
libbase_SRCS += lib/records/tlv.c

# libbatch: the body of a POST to the aggregator; a program that links it lists libbatch
# libbase in _LIBS and zlib in _PKGS
ifeq ($(HAVE_ZLIB),1)
ARCHIVES += libbatch
libbatch_PKGS := zlib
libbatch_SRCS := lib/records/batch.c
endif
