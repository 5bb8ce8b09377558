/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/readable_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>
#define DEMANGLES true
#else
#define DEMANGLES false
#endif

#include "lib/cleanup.h"

const bool readable_name_demangles = DEMANGLES;

/* Longer ones are no names; what demanglers do with them grows faster than they do. */
#define MANGLED_BYTES_MAX 2048

static size_t put_cut(char *ret, size_t size, const char *text, size_t len)
{
	static const char dots[] = "...";

	if (len < size) {
		memcpy(ret, text, len);
		ret[len] = '\0';
		return len;
	}
	memcpy(ret, text, size - sizeof(dots));
	memcpy(ret + size - sizeof(dots), dots, sizeof(dots));
	return size - 1;
}

/* module::procedure of a symbol's parts */
static size_t put_parts(char *ret, size_t size, const char *module, size_t module_len,
			const char *procedure, size_t procedure_len)
{
	char text[2 * 256 + 3];

	if (module_len > 256 || procedure_len > 256)
		return 0;
	int len = snprintf(text, sizeof(text), "%.*s::%.*s", (int)module_len, module,
			   (int)procedure_len, procedure);
	return put_cut(ret, size, text, (size_t)len);
}

static bool is_fortran_part(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) &&
		    s[i] != '_')
			return false;
	}
	return len > 0;
}

/* gfortran: __MODULE_MOD_PROCEDURE */
static size_t put_gfortran(const char *s, char *ret, size_t size)
{
	const char *middle = strncmp(s, "__", 2) == 0 ? strstr(s, "_MOD_") : NULL;

	if (!middle || middle == s + 2 || !middle[5])
		return 0;
	return put_parts(ret, size, s + 2, (size_t)(middle - s) - 2, middle + 5,
			 strlen(middle + 5));
}

/* ifort, ifx: MODULE_mp_PROCEDURE_ */
static size_t put_ifort(const char *s, char *ret, size_t size)
{
	const char *middle = strstr(s, "_mp_");
	size_t len = strlen(s);

	if (!middle || middle == s || s[len - 1] != '_' || middle + 5 >= s + len)
		return 0;
	size_t module = (size_t)(middle - s), procedure = len - module - 5;
	if (!is_fortran_part(s, module) || !is_fortran_part(middle + 4, procedure))
		return 0;
	return put_parts(ret, size, s, module, middle + 4, procedure);
}

/* flang: _QMMODULEPPROCEDURE, _QPPROCEDURE, names in lower case */
static size_t put_flang(const char *s, char *ret, size_t size)
{
	if (strncmp(s, "_QP", 3) == 0 && is_fortran_part(s + 3, strlen(s + 3)))
		return put_cut(ret, size, s + 3, strlen(s + 3));
	if (strncmp(s, "_QM", 3) != 0)
		return 0;
	size_t module = strcspn(s + 3, "PFS");
	const char *procedure = s + 3 + module + 1;
	if (s[3 + module] != 'P' || !is_fortran_part(s + 3, module) ||
	    !is_fortran_part(procedure, strlen(procedure)))
		return 0;
	return put_parts(ret, size, s + 3, module, procedure, strlen(procedure));
}

static size_t put_demangled(const char *symbol, char *ret, size_t size)
{
#ifdef HAVE_IBERTY
	if (symbol[0] != '_' || strlen(symbol) > MANGLED_BYTES_MAX)
		return 0;
	auto_free char *text =
		cplus_demangle(symbol, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
	return text ? put_cut(ret, size, text, strlen(text)) : 0;
#else
	(void)symbol;
	(void)ret;
	(void)size;
	return 0;
#endif
}

size_t readable_name(const char *symbol, char *ret, size_t size)
{
	size_t len = put_gfortran(symbol, ret, size);

	if (!len)
		len = put_flang(symbol, ret, size);
	if (!len)
		len = put_demangled(symbol, ret, size);
	if (!len)
		len = put_ifort(symbol, ret, size);
	return len ? len : put_cut(ret, size, symbol, strnlen(symbol, size));
}
