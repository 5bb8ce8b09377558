# SPDX-License-Identifier: GPL-2.0-or-later

# libingest: a batch as rows, without a database
ARCHIVES += libingest
libingest_LIBS := libaggregator
libingest_SRCS += aggregator/ingest/ingest_claim.c
libingest_SRCS += aggregator/ingest/ingest_decode.c
libingest_SRCS += aggregator/ingest/ingest_job.c
libingest_SRCS += aggregator/ingest/ingest_known.c
libingest_SRCS += aggregator/ingest/ingest_may.c
libingest_SRCS += aggregator/ingest/ingest_place.c
libingest_SRCS += aggregator/ingest/ingest_report.c
libingest_SRCS += aggregator/ingest/ingest_rows.c

# part of libaggregator: ingest with a database
libaggregator_SRCS += aggregator/ingest/ingest.c
libaggregator_SRCS += aggregator/ingest/ingest_copy.c
libaggregator_SRCS += aggregator/ingest/ingest_host.c
libaggregator_SRCS += aggregator/ingest/ingest_metrics.c
libaggregator_SRCS += aggregator/ingest/ingest_proof.c
libaggregator_SRCS += aggregator/ingest/ingest_sender.c
libaggregator_SRCS += aggregator/ingest/ingest_write.c
libaggregator_SRCS += aggregator/ingest/ingest_writer.c
