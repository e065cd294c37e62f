/* SPDX-License-Identifier: MIT */
#include "run/counts/creators.h"

#include "base/buf.h"
#include "event/kernel_filter.h"
#include "perf/counter.h"
#include "perf/group.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/run.h"
#include "run/stop.h"

struct creator_counts {
	struct attar_target *target;          /* the watched threads; NULL: no per-thread counts */
	VEC(struct attar_counter *) counters; /* one for each of the run's counts; may be NULL */
};

PART_STATE(creators_of, struct creator_counts, PART_CREATORS)

static int open_target(struct attar_run *run)
{
	struct attar_target_opts opts = {.size = sizeof(opts),
		.any_cpu = true,
		.skip_refused = true,
		.stop = &stop_of(run)->asked};
	struct buf tids _cleanup_(buf_done) = {0};

	buf_list(&tids, run->target->tids.at, run->target->tids.n);
	if (buf_failed(&tids))
		return base_oom();
	opts.tids = buf_text(&tids);
	return attar_target_new(&opts, &creators_of(run)->target);
}

/* A group member is counted only while its whole group is. */
static bool waits_for_hardware(const struct attar_counter *c)
{
	for (size_t m = 0; c->group && m < c->group->n; m++)
		if (c->group->members[m]->shares)
			return true;
	return c->shares;
}

/* The attributes of the run's counter, without inheritance and records. */
static void fill_attr(const struct attar_counter *of, union uapi_attr *attr)
{
	*attr = of->whole;
	attr->attr.inherit = attr->attr.inherit_stat = 0;
	attr->attr.task = attr->attr.comm = attr->attr.comm_exec = attr->attr.mmap = 0;
	attr->attr.sample_id_all = attr->attr.watermark = 0;
	attr->attr.sample_type = attr->attr.read_format = 0;
}

static struct attar_counter *open_one(struct attar_run *run, const struct counted *c)
{
	struct attar_counter *own = NULL;
	union uapi_attr attr;
	int r;

	if (!c->counter || waits_for_hardware(c->counter))
		return NULL;
	fill_attr(c->counter, &attr);
	r = attar_counter_open(creators_of(run)->target, &attr.attr, c->pub.name, 0, &own);
	if (r == 0)
		r = kernel_filter_count(own, c->pub.spec);
	if (r == 0)
		return own;
	attar_error_clear();
	return attar_counter_close(own);
}

int creator_counts_open(struct attar_run *run)
{
	struct creator_counts *s = creators_of(run);

	creator_counts_close(run);
	if (!exited_threads_reported(run))
		return 0;
	if (open_target(run) < 0) {
		attar_error_clear();
		return 0;
	}
	vec_each (&counts_of(run)->list, c) {
		struct attar_counter *own = open_one(run, c);

		if (vec_push(&s->counters, own) < 0) {
			attar_counter_close(own);
			return base_oom();
		}
	}
	return 0;
}

void creator_counts_close(struct attar_run *run)
{
	struct creator_counts *s = creators_of(run);

	vec_each (&s->counters, c)
		attar_counter_close(*c);
	vec_done(&s->counters);
	s->target = attar_target_free(s->target);
}

int creator_counts_enable(struct attar_run *run)
{
	int r = 0;

	vec_each (&creators_of(run)->counters, c)
		if (*c && r == 0)
			r = attar_counter_enable(*c);
	return r;
}

int creator_counts_disable(struct attar_run *run)
{
	int r = 0;

	vec_each (&creators_of(run)->counters, c)
		if (*c && r == 0)
			r = attar_counter_disable(*c);
	return r;
}

bool creator_counts_read(struct attar_run *run, size_t i, pid_t tid, struct attar_value *ret_value)
{
	struct attar_counter *c =
		i < creators_of(run)->counters.n ? creators_of(run)->counters.at[i] : NULL;

	for (size_t i_instance = 0; c && i_instance < attar_counter_instances(c); i_instance++)
		if (attar_counter_instance_at(c, i_instance).tid == tid)
			return attar_counter_read_at(c, i_instance, ret_value) == 0;
	return false;
}

const struct run_part part_creators = {.size = sizeof(struct creator_counts)};
