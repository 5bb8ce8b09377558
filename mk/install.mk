# SPDX-License-Identifier: GPL-2.0-or-later
## make install DESTDIR= PREFIX=
## make dist            a source archive of HEAD

.PHONY: install dist
install: all
dist:
	git archive --prefix=ceems-slurm-$(VERSION)/ -o ceems-slurm-$(VERSION).tar.gz HEAD
