/* SPDX-License-Identifier: MIT */
/* The arguments and results of system calls: what each number of a call is. */
#ifndef PROFILERS_CALLS_SIGNATURES_H
#define PROFILERS_CALLS_SIGNATURES_H

#include <stdbool.h>

#include "calls/names.h"
#include "calls/structs.h"

enum { CALLS_ARGS = 6, CALLS_NUMBERS = 512 /* system calls with lower numbers */ };

enum calls_kind {
	CALLS_END, /* no further argument */
	CALLS_INT, /* 32 bits with a sign */
	CALLS_UINT,
	CALLS_LONG, /* 64 bits with a sign */
	CALLS_ULONG,
	CALLS_HEX,
	CALLS_POINTER,
	CALLS_OCTAL,     /* a mode of 16 bits */
	CALLS_FILE_MODE, /* with the type of the file */
	CALLS_FD,
	CALLS_DIRFD, /* or AT_FDCWD */
	CALLS_DEVICE,
	CALLS_PATH,    /* a string: all of it */
	CALLS_TEXT,    /* likewise, not of a file */
	CALLS_STRINGS, /* an array of them */
	CALLS_ENVIRONMENT,
	CALLS_IN,     /* bytes at the entry, as many as the next argument says */
	CALLS_OUT,    /* bytes at the exit, as many as the result says */
	CALLS_RANDOM, /* likewise, as hexadecimal numbers */
	CALLS_NAMES,
	CALLS_SIGNAL,
	CALLS_STRUCT,
	CALLS_OPEN_MODE, /* only with O_CREAT or O_TMPFILE before it */
	CALLS_SPECIAL,   /* with the function of the call, which prints all that follow */
	CALLS_ID,        /* of a user or group; -1 */
	CALLS_OFFSET,    /* of a file, hexadecimal */
	CALLS_SOCKET_OPTION,
	CALLS_PROTOCOL, /* depends on the family, the first argument */
};

struct calls_arg {
	enum calls_kind kind;
	const struct calls_names *names;    /* CALLS_NAMES */
	const struct calls_struct *struct_; /* CALLS_STRUCT */
};

enum calls_result {
	CALLS_RETURNS_NUMBER,
	CALLS_RETURNS_POINTER,
	CALLS_RETURNS_FD,
	CALLS_RETURNS_OCTAL,
	CALLS_RETURNS_FCNTL,
	CALLS_RETURNS_POLL,
	CALLS_RETURNS_NOTHING, /* it does not return */
};

/* What strace(1) calls %NAME, as bits. */
enum calls_class {
	CALLS_OF_FILE = 1,
	CALLS_OF_DESC = 2,
	CALLS_OF_NET = 4,
	CALLS_OF_PROCESS = 8,
	CALLS_OF_MEMORY = 16,
	CALLS_OF_SIGNAL = 32,
	CALLS_OF_IPC = 64,
	CALLS_OF_CREDS = 128,
	CALLS_OF_CLOCK = 256,
};

struct calls_signature {
	const char *name;
	struct calls_arg args[CALLS_ARGS];
	enum calls_result result;
	unsigned classes; /* enum calls_class; the first two also follow from the arguments */
};

/* NULL: the arguments of a call with this name are not known. */
const struct calls_signature *calls_find_signature(const char *name);

unsigned calls_classes_of(const struct calls_signature *call);

/* The class with a name, such as "file"; 0: there is none. */
unsigned calls_find_class(const char *name, size_t n);

#endif
