/* SPDX-License-Identifier: MIT */
/* The fields of events of requests, and the event that other profilers get of each. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "block/requests.h"
#include "attar/builtin.h"

enum { SECTOR = 512 };

void block_event_text(char *to, size_t max, const struct attar_event *ev, enum block_field field)
{
	size_t n;
	const char *text = attar_arg_text(ev, field, &n);

	memset(to, 0, max);
	memcpy(to, text ? text : "", n < max ? n : max - 1);
}

uint64_t block_event_bytes(const struct attar_event *ev)
{
	return attar_arg_exists(ev, BLOCK_BYTES) ? attar_arg_u64(ev, BLOCK_BYTES)
						 : attar_arg_u64(ev, BLOCK_N_SECTORS) * SECTOR;
}

/* An event of a request, see format. */
struct emitted {
	uint16_t common_type;
	uint8_t common_flags, common_preempt_count;
	int32_t common_pid;
	uint32_t dev, n_sectors;
	uint64_t sector;
	uint32_t bytes;
	int32_t error;
	char rwbs[BLOCK_TYPE_BYTES], comm[BLOCK_COMM_BYTES], stage[12];
};

_Static_assert(sizeof(struct emitted) == 72 && offsetof(struct emitted, stage) == 60, "format");

static const char format[] =
	"name: blktrace\n"
	"ID: 0\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int nr_sector;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int bytes;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:char rwbs[12];\toffset:32;\tsize:12;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;\n"
	"\tfield:char stage[12];\toffset:60;\tsize:12;\tsigned:0;\n"
	"\n"
	"print fmt: \"stage=%s dev=%d,%d rwbs=%s sector=%llu nr_sector=%u bytes=%u comm=%s "
	"error=%d\", REC->stage, ((unsigned int)((REC->dev) >> 20)), ((unsigned int)((REC->dev) & "
	"((1U << 20) - 1))), REC->rwbs, REC->sector, REC->nr_sector, REC->bytes, REC->comm, "
	"REC->error\n";

int block_emit_fields(struct attar_run *run)
{
	return run_emits(run) ? run_emit_fields(run, format) : 0;
}

/* The stage is the last word of the tracepoint's name: "insert" of block:block_rq_insert. */
int block_emit(struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	struct emitted emitted = {.dev = (uint32_t)attar_arg_u64(ev, BLOCK_DEV),
		.n_sectors = (uint32_t)attar_arg_u64(ev, BLOCK_N_SECTORS),
		.sector = attar_arg_u64(ev, BLOCK_AT),
		.bytes = (uint32_t)block_event_bytes(ev)};

	if (s->raw && s->raw_size >= offsetof(struct emitted, dev))
		memcpy(&emitted, s->raw, offsetof(struct emitted, dev));
	if (attar_arg_exists(ev, BLOCK_ERROR))
		emitted.error = (int32_t)attar_arg_i64(ev, BLOCK_ERROR);
	block_event_text(emitted.rwbs, sizeof(emitted.rwbs), ev, BLOCK_RWBS);
	if (attar_arg_exists(ev, BLOCK_COMM))
		block_event_text(emitted.comm, sizeof(emitted.comm), ev, BLOCK_COMM);
	snprintf(emitted.stage, sizeof(emitted.stage), "%s",
		strrchr(attar_run_source_name(run, ev->counter), '_') + 1);
	return run_emit(run, &emitted);
}
