/* SPDX-License-Identifier: MIT */
#include "run/part.h"

#include "run/run.h"

int parts_init(struct run_parts *parts, const struct run_part *const *list)
{
	for (int i = 0; i < PART_COUNT; i++) {
		parts->state[i] = list[i]->size ? calloc(1, list[i]->size) : NULL;
		if (list[i]->size && !parts->state[i])
			return base_oom();
	}
	parts->list = list;
	return 0;
}

/* Calls a hook of each part that has it, until one of them does not return 0. */
#define PARTS_CALL(run, hook, ...)                                                                 \
	({                                                                                         \
		const struct run_parts *parts_ = &(run)->parts;                                    \
		int r_ = 0;                                                                        \
                                                                                                   \
		for (int i_ = 0; r_ == 0 && i_ < PART_COUNT; i_++)                                 \
			if (parts_->list[i_]->hook)                                                \
				r_ = parts_->list[i_]->hook(                                       \
					run, parts_->state[i_] __VA_OPT__(, ) __VA_ARGS__);        \
		r_;                                                                                \
	})

/* The functions of the hooks that have no further arguments. */
#define PARTS_HOOK(hook)                                                                           \
	int parts_##hook(struct attar_run *run)                                                    \
	{                                                                                          \
		return PARTS_CALL(run, hook);                                                      \
	}

PARTS_HOOK(create)
PARTS_HOOK(prepare)
PARTS_HOOK(complete)
PARTS_HOOK(opened)
PARTS_HOOK(listen)
PARTS_HOOK(begin)
PARTS_HOOK(started)
PARTS_HOOK(round)
PARTS_HOOK(drain)
PARTS_HOOK(follow)
PARTS_HOOK(drained)
PARTS_HOOK(requested)
PARTS_HOOK(ended)
PARTS_HOOK(finish)

int parts_events(struct attar_run *run, const char *text, bool stacks, attar_event_fn *fn)
{
	return PARTS_CALL(run, events, text, stacks, fn);
}

int parts_event(
	struct attar_run *run, const struct attar_event_spec *spec, bool stacks, attar_event_fn *fn)
{
	return PARTS_CALL(run, event, spec, stacks, fn);
}

int parts_added(struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn)
{
	return PARTS_CALL(run, added, spec, fn);
}

int parts_read(struct attar_run *run, struct attar_report *report)
{
	return PARTS_CALL(run, read, report);
}

int parts_source(struct attar_run *run, struct source *s)
{
	return PARTS_CALL(run, source, s);
}

int parts_attr(struct attar_run *run, const struct source *s, struct perf_event_attr *attr)
{
	return PARTS_CALL(run, attr, s, attr);
}

int parts_kept(struct attar_run *run, const struct attar_event *event)
{
	return PARTS_CALL(run, kept, event);
}

int parts_record(struct attar_run *run, const struct attar_event *event)
{
	return PARTS_CALL(run, record, event);
}

int parts_sample(struct attar_run *run, uint32_t steps, struct attar_event *event)
{
	int r = 0;

	for (; r == 0 && steps; steps &= steps - 1) {
		const int i = __builtin_ctz(steps);

		r = run->parts.list[i]->sample(run, run->parts.state[i], event);
	}
	return r;
}

int parts_turn(struct attar_run *run, uint64_t now)
{
	return PARTS_CALL(run, turn, now);
}

int parts_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	return PARTS_CALL(run, report, report, scope);
}

void parts_toggled(struct attar_run *run, uint32_t source, bool on)
{
	for (int i = 0; i < PART_COUNT; i++)
		if (run->parts.list[i]->toggled)
			run->parts.list[i]->toggled(run, run->parts.state[i], source, on);
}

void parts_stats(struct attar_run *run, struct attar_stream_stats *stats)
{
	for (int i = 0; i < PART_COUNT; i++)
		if (run->parts.list[i]->stats)
			run->parts.list[i]->stats(run, run->parts.state[i], stats);
}

void parts_remark(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	for (int i = 0; i < PART_COUNT; i++)
		if (run->parts.list[i]->remark)
			run->parts.list[i]->remark(run, run->parts.state[i], report, scope);
}

void parts_detach(struct attar_run *run)
{
	for (int i = 0; i < PART_COUNT && run->parts.list; i++)
		if (run->parts.list[i]->detach && run->parts.state[i])
			run->parts.list[i]->detach(run, run->parts.state[i]);
}

void parts_free(struct attar_run *run)
{
	for (int i = 0; i < PART_COUNT && run->parts.list; i++)
		if (run->parts.list[i]->free && run->parts.state[i])
			run->parts.list[i]->free(run, run->parts.state[i]);
}

void parts_done(struct run_parts *parts)
{
	for (int i = 0; i < PART_COUNT; i++)
		free(parts->state[i]);
}
