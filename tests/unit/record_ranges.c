/* SPDX-License-Identifier: MIT */
#include "record_encoder.h"

#include <string.h>

#include "record/uapi.h"

typedef void visit_fn(void *ctx, const void *bytes, uint64_t len);

static void visit_text(visit_fn *visit, void *ctx, const char *text)
{
	visit(ctx, text, strlen(text) + 1);
}

static void visit_read(visit_fn *visit, void *ctx, const struct attar_read *read)
{
	/* Only attar_read_at() computes the position of the last value: reading it must be safe. */
	struct attar_read_value last = attar_read_at(read, read->nr ? read->nr - 1 : 0);

	visit(ctx, read->words, read->words ? 8 : 0);
	visit(ctx, read->words, (last.value ^ last.id ^ last.lost) == 1 ? 8 : 0);
}

static void visit_sample(visit_fn *visit, void *ctx, const struct attar_sample *s)
{
	visit_read(visit, ctx, &s->read);
	visit(ctx, s->callchain, s->callchain_nr * 8);
	visit(ctx, s->raw, s->raw_size);
	visit(ctx, s->branches, s->branch_nr * sizeof(*s->branches));
	visit(ctx, s->branch_counters, s->branch_counters ? s->branch_nr * 8 : 0);
	visit(ctx, s->regs_user.values, s->regs_user.nr * 8);
	visit(ctx, s->regs_intr.values, s->regs_intr.nr * 8);
	visit(ctx, s->stack, s->stack_size);
	visit(ctx, s->aux, s->aux_size);
}

void record_ranges(const struct attar_record *rec, visit_fn *visit, void *ctx)
{
	visit(ctx, rec->header, sizeof(*rec->header));
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		visit_sample(visit, ctx, &rec->sample);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		visit_text(visit, ctx, rec->mmap.filename);
		break;
	case PERF_RECORD_COMM:
		visit_text(visit, ctx, rec->comm.comm);
		break;
	case PERF_RECORD_READ:
		visit_read(visit, ctx, &rec->read.values);
		break;
	case PERF_RECORD_NAMESPACES:
		visit(ctx, rec->namespaces.links, rec->namespaces.nr * 16);
		break;
	case PERF_RECORD_KSYMBOL:
		visit_text(visit, ctx, rec->ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		visit(ctx, rec->bpf_event.tag, 8);
		break;
	case PERF_RECORD_CGROUP:
		visit_text(visit, ctx, rec->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		visit(ctx, rec->text_poke.old_bytes, rec->text_poke.old_len);
		visit(ctx, rec->text_poke.new_bytes, rec->text_poke.new_len);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED_:
		visit(ctx, rec->callchain_deferred.ips, rec->callchain_deferred.nr * 8);
		break;
	}
}
