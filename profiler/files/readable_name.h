/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_READABLE_NAME_H
#define CEEMS_PROFILER_FILES_READABLE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* A symbol as who wrote the program knows it: C++ and Rust demangled, as nm -C does;
 * module::procedure of what gfortran, ifort, ifx and flang make of Fortran's names;
 * else as it is. Cut to size, with "..." at its end. Returns its length. Demanglers may
 * take much time and memory for a name made to do so: only in a child that may be lost.
 */
size_t readable_name(const char *symbol, char *ret, size_t size);

/* Whether there is a demangler in this build. */
extern const bool readable_name_demangles;

#endif
