/* SPDX-License-Identifier: MIT */
#include "run/self.h"

#include <sys/resource.h>

#include "base/check.h"
#include "base/memory.h"
#include "run/run.h"

enum { SECOND_NS = 1000000000, CPU_MAX = 8191, PID_MAX = 4194304 };

static int read_list(const char *name, const char *text, int max, parse_ints *ret_list)
{
	int r = text ? parse_list(text, max, ret_list) : 0;

	return r < 0 ? attar_context(r, "--%s", name) : 0;
}

int self_open(struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	struct run_self *self = &run->self_watch;
	int r = read_list("perfeval-cpus", o->perfeval_cpus, CPU_MAX, &self->cpus);

	if (r == 0)
		r = read_list("perfeval-pids", o->perfeval_pids, PID_MAX, &self->pids);
	self->selects = self->cpus.n || self->pids.n;
	if (r == 0 && self->selects && !o->sampling_limit)
		r = attar_fail(-EINVAL,
			"--perfeval-cpus and --perfeval-pids need --sampling-limit, "
			"which they restrict");
	return r;
}

void self_done(struct run_self *self)
{
	vec_done(&self->cpus);
	vec_done(&self->pids);
}

/* ---- CPU usage ---- */

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_usec * 1000;
}

static void begin_usage(struct run_self *self, const struct rusage *usage, uint64_t now)
{
	self->usage_began = now;
	self->user = ns_of(usage->ru_utime);
	self->system = ns_of(usage->ru_stime);
}

static void log_usage(struct run_self *self, const struct rusage *usage, uint64_t now)
{
	double period = (double)(now - self->usage_began);

	log_note("own CPU usage: %.2f%% user, %.2f%% system in %.0f ms; %.2f MiB peak",
		100 * (double)(ns_of(usage->ru_utime) - self->user) / period,
		100 * (double)(ns_of(usage->ru_stime) - self->system) / period, period / 1e6,
		(double)memory_peak() / (1 << 20));
}

static void check_usage(struct attar_run *run, uint64_t now)
{
	struct run_self *self = &run->self_watch;
	struct rusage usage;

	if (!run->opts.usage_self || now < self->usage_due)
		return;
	getrusage(RUSAGE_SELF, &usage);
	if (self->usage_due)
		log_usage(self, &usage, now);
	begin_usage(self, &usage, now);
	self->usage_due = now + run->opts.usage_self;
}

/* ---- the rate of samples ---- */

void self_count(struct attar_run *run, const struct attar_event *event)
{
	struct run_self *self = &run->self_watch;

	if (self->cpus.n && !parse_ints_have(&self->cpus, (int)event->cpu))
		return;
	if (self->pids.n && !parse_ints_have(&self->pids, event->thread->process->pid))
		return;
	self->evaluated++;
}

bool self_check(struct attar_run *run, uint64_t now)
{
	struct run_self *self = &run->self_watch;
	uint64_t limit = run->opts.sampling_limit,
		 samples = self->selects ? self->evaluated : run->notes.delivered;

	check_usage(run, now);
	if (!limit)
		return true;
	if (self->second_began && samples - self->samples > limit) {
		log_warn("ended by --sampling-limit: %llu samples in %.3f s, but at most %llu per "
			 "second are allowed",
			(unsigned long long)(samples - self->samples),
			(double)(now - self->second_began) / 1e9, (unsigned long long)limit);
		return false;
	}
	if (now - self->second_began >= SECOND_NS) {
		self->second_began = now;
		self->samples = samples;
	}
	return true;
}
