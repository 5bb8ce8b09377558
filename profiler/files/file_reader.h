/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_FILE_READER_H
#define CEEMS_PROFILER_FILES_FILE_READER_H

/* The child that reads one file of users' making (reader_message.h): without
 * privileges, with few system calls, and with bounds on what it takes. arg: struct
 * reader_setup. */
void file_reader_main(int socket, const void *arg);

#endif
