/* SPDX-License-Identifier: MIT */
/* What attar keeps of a DSO that a reader has: see symbol/reader.h. */
#ifndef SYMBOL_READER_DSO_H
#define SYMBOL_READER_DSO_H

#include "base/vec.h"

struct reader;

/* A part of a DSO that has the same symbol. */
struct reader_range {
	uint64_t at, end; /* offsets of locations */
	uint32_t symbol;  /* its number plus 1; 0: none */
};

/* What is known of a DSO that a reader has. {0}: none has it. */
struct reader_dso {
	struct reader *reader;
	uint32_t life;          /* of the reader that has it; 0: none */
	bool is_apart;          /* its file is read by a reader */
	bool is_twin;           /* another file has the same contents */
	const char *shown;      /* instead of its path, if a reader has failed with it; else NULL */
	bool jit_map, jit_dump; /* files of a JIT compiler that the reader has */
	uint16_t jit_dumps;     /* jit.dumps of that */
	VEC(struct reader_range) ranges; /* sorted */
};

void reader_dso_done(struct reader_dso *dso);

/* Why a reader has failed with a file, whose error this is. */
const char *readers_reason(int error);

#endif
