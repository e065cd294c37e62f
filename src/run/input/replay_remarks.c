/* SPDX-License-Identifier: MIT */
/* What a report says about the recording: what it lacks, and what is damaged. */
#include "report/model/model.h"
#include "run/input/needed_events.h"
#include "run/input/pull.h"
#include "run/input/recorded_names.h"
#include "run/input/replay.h"
#include "run/input/replay_counts.h"
#include "run/input/replay_names.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "source/modes.h"
#include "stream/stream.h"

static int replay_remarks_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Which CPUs of --cpus have no events. */
static void cpus_remark(const struct attar_run *run, struct attar_report *report)
{
	parse_ints *has = &run->replay->cpus;
	struct buf absent _cleanup_(buf_done) = {0}, present _cleanup_(buf_done) = {0};

	vec_each (&run->select.cpus, cpu)
		if (!parse_ints_have(has, *cpu))
			buf_list(&absent, cpu, 1);
	if (!absent.len || !has->n)
		return;
	qsort(has->at, has->n, sizeof(*has->at), replay_remarks_compare);
	buf_list(&present, has->at, has->n);
	attar_report_remark(report,
		"--cpus: the recording has no events of CPU %s; its events are of CPU %s",
		buf_text(&absent), buf_text(&present));
}

/* Which tasks of --pids and --tids the recording does not know. */
static void tasks_remark(const struct attar_run *run, struct attar_report *report)
{
	struct buf pids _cleanup_(buf_done) = {0}, tids _cleanup_(buf_done) = {0};
	size_t n_pids = 0, n_tids = 0;

	vec_each (&run->replay->pids, pid)
		if (!stream_process(run->stream, *pid) && ++n_pids)
			buf_list(&pids, pid, 1);
	vec_each (&run->replay->tids, tid)
		if (!stream_thread(run->stream, *tid) && ++n_tids)
			buf_list(&tids, tid, 1);
	if (n_pids)
		attar_report_remark(report, "--pids: the recording has no process%s %s",
			n_pids == 1 ? "" : "es", buf_text(&pids));
	if (n_tids)
		attar_report_remark(report, "--tids: the recording has no thread%s %s",
			PLURAL_S(n_tids), buf_text(&tids));
}

/* Which samples of an event without modifiers the recording has, if it lacks others. */
static void modes_remark(const struct attar_run *run, struct attar_report *report)
{
	vec_each (&run->replay->partial, partial)
		attar_report_remark(report, "'%s': the recording has this event in %s only",
			run->sources.list.at[partial->number].name, modes_text(partial->modes));
}

/* Which events were counted in the samples of another one. */
static void members_remark(const struct attar_run *run, struct attar_report *report)
{
	vec_each (&run->sources.list, s)
		if (!s->use->timer && is_group_member(&s->attr))
			attar_report_remark(report,
				"'%s' was counted in a group (:S): it has samples of the leader of "
				"the group, whose periods are its numbers of events, and no fields",
				s->name);
}

/* Which events have samples with the ids of others. */
static void ids_remark(const struct attar_run *run, struct attar_report *report)
{
	const struct recording *recording = run->replay->recording;

	for (size_t i = 0; i < run->replay->events.n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct recording_event *a = recording_get_event(recording, k),
						     *b = recording_get_event(recording, i);

			if (!modes_share_ids(&a->attr, &b->attr) ||
				!(run->replay->events.at[i].numbers.n ||
					run->replay->events.at[k].numbers.n))
				continue;
			attar_report_remark(report,
				"the recording has samples of '%s' and '%s', which are the same "
				"software event: the kernel can give samples of one the id of the "
				"other, and then the counts of both are wrong; record one of them",
				a->name, b->name);
		}
}

static bool writes_side_band(const struct perf_event_attr *attr)
{
	return attr->mmap || attr->mmap2 || attr->comm || attr->task || attr->context_switch ||
	       attr->ksymbol || attr->bpf_event || attr->text_poke || attr->cgroup;
}

/*
 * The kernel counts what an event has lost: samples, and the side-band records that it writes.
 * Without these counts, LOST records have the losses of all events of a ring.
 */
static bool loses_side_band(const struct attar_run *run, uint64_t lost)
{
	const struct recording *recording = run->replay ? run->replay->recording : NULL;

	for (size_t i = 0; recording && lost && i < recording_n_events(recording); i++)
		if (writes_side_band(&recording_get_event(recording, i)->attr) &&
			!(run->stream->has_final_losses && replay_is_side_band(run->stream, i)))
			return true;
	return false;
}

/*
 * LOST records do not show which events lost records, and the counts of each event are at the end
 * of the recording, which can be missing.
 */
static bool loses_unused(const struct attar_run *run, uint64_t lost)
{
	const struct recording *recording = run->replay ? run->replay->recording : NULL;
	struct recording_stats stats;

	if (!recording || !lost)
		return false;
	recording_get_stats(recording, &stats);
	if (run->stream->has_final_losses && !stats.damage)
		return false;
	for (size_t i = 0; i < run->stream->n_counters; i++)
		if (run->stream->accounts[i].is_unused && !replay_is_side_band(run->stream, i))
			return true;
	return false;
}

static const char *name_of_input(const struct attar_run *run)
{
	const char *name = run->opts.input;

	return name && !strcmp(name, "-") ? "standard input" : name;
}

void replay_damage_remark(const struct attar_run *run, struct attar_report *report)
{
	const char *name = name_of_input(run);
	struct recording_stats stats;

	if (!run->replay)
		return;
	recording_get_stats(run->replay->recording, &stats);
	if (stats.damage)
		attar_report_remark(report, "%s is damaged: %s", name, stats.damage);
	if (recording_get_facts(run->replay->recording)->running_formats)
		attar_report_remark(report,
			"%s lacks the formats of its tracepoints, which are at its end: they are "
			"those of the running kernel, which made the recording",
			name);
}

void replay_remark(const struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	const char *name = name_of_input(run);
	struct recording_stats stats;

	if (!run->replay)
		return;
	recording_get_stats(run->replay->recording, &stats);
	if (stats.malformed)
		attar_report_remark(report, "%llu invalid record%s of %s skipped",
			(unsigned long long)stats.malformed, PLURAL_S(stats.malformed), name);
	if (run->stream->procs.dropped)
		attar_report_remark(report,
			"%s has too many threads or mappings: %llu idle thread%s forgotten, so "
			"that later names and functions of them can be missing",
			name, (unsigned long long)run->stream->procs.dropped,
			run->stream->procs.dropped == 1 ? " was" : "s were");
	if (!replay_has_date(run))
		attar_report_remark(report,
			"%s does not say when it was made: times are those of its clock", name);
	if (scope == ATTAR_SCOPE_WHOLE) {
		cpus_remark(run, report);
		tasks_remark(run, report);
		modes_remark(run, report);
		ids_remark(run, report);
		members_remark(run, report);
	}
	replay_counts_remark(run, report);
	needed_events_remark(run, report);
	recorded_names_remark(run, report);
	pull_remark(run, report);
}

static int replay_read(struct attar_run *run, void *self, struct attar_report *report)
{
	if (run->replay) /* first of all remarks: it concerns all results */
		replay_damage_remark(run, report);
	return 0;
}

static void replay_remarks(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const uint64_t lost = report->notes.lost;

	if (loses_unused(run, lost))
		attar_report_remark(report,
			"the %llu lost records can include events that this profiler does "
			"not use: the recording does not count them by event",
			(unsigned long long)lost);
	if (loses_side_band(run, lost))
		attar_report_remark(report,
			"the %llu lost records can include records of names, mappings, forks and "
			"exits besides samples: the recording does not count these separately",
			(unsigned long long)lost);
	replay_remark(run, report, scope);
}

const struct run_part part_replay = {.read = replay_read, .remark = replay_remarks};
