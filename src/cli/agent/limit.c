/* SPDX-License-Identifier: MIT */
/*
 * The limits of the agent. Above the limit of CPU time it halves the frequency of the profiler that
 * costs most of those that have one; when all are at 1 Hz, it pauses the most expensive profiler.
 * Below 40% of the limit for some checks it takes back one step: a doubled frequency costs at most
 * twice as much. Above the limit of memory, the largest profiler is started again, which frees what
 * it has kept; if it was started less than three checks ago, it is paused.
 *
 * A step changes what the next check measures, because a profiler that starts reads the names of
 * the kernel: that check is skipped. For the same reason, the CPU time of a profiler does not count
 * at the first check after its start, and when it has failed: no step on other profilers reduces
 * it, and failures become rare, because the time until it is started again doubles.
 */
#include <time.h>

#include "cli/agent/agent.h"

enum { CALM_FIRST = 5, CALM_MAX = 480 };
#define CALM_SHARE 0.4

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static uint64_t own_rss(void)
{
	struct agent_child self = {.pid = getpid()};

	agent_child_measure(&self);
	return self.rss;
}

void agent_measure_memory(struct agent *a)
{
	a->rss = own_rss();
	vec_each (&a->children, it) {
		agent_child_measure(*it);
		a->rss += (*it)->rss;
	}
}

/* Whether it was started or has failed since the last check. */
static bool has_changed(struct agent_child *c)
{
	bool has_failed = c->failures != c->checked_failures;

	c->checked_failures = c->failures;
	return ++c->checks < 2 || has_failed;
}

static void measure(struct agent *a, uint64_t now)
{
	uint64_t own = own_cpu_ns(), used = own - a->own_ns, steady = used;

	a->own_ns = own;
	agent_measure_memory(a);
	vec_each (&a->children, it) {
		struct agent_child *c = *it;

		c->used_ns = c->cpu_ns - c->checked_ns;
		c->checked_ns = c->cpu_ns;
		used += c->used_ns;
		steady += has_changed(c) ? 0 : c->used_ns;
	}
	a->has_cpu = true;
	a->cpu = (double)used / (double)(now - a->checked);
	a->steady = (double)steady / (double)(now - a->checked);
	a->checked = now;
}

static bool runs(const struct agent_child *c)
{
	return c->state == AGENT_RUNS && c->pid && !c->ending;
}

/* The running child that used most CPU time, of those that can be lowered or of all. */
static struct agent_child *find_costly(struct agent *a, bool lowerable)
{
	struct agent_child *found = NULL;

	vec_each (&a->children, it)
		if (runs(*it) && (!lowerable || agent_child_freq(*it) > 1) &&
			(!found || (*it)->used_ns > found->used_ns))
			found = *it;
	return found;
}

static struct agent_child *find_largest(struct agent *a)
{
	struct agent_child *found = NULL;

	vec_each (&a->children, it)
		if (runs(*it) && (!found || (*it)->rss > found->rss))
			found = *it;
	return found;
}

/* It is started again when it has ended. */
static void take_step(struct agent *a, struct agent_child *c, enum agent_step step)
{
	c->steps[step]++;
	a->settling = true;
	a->calm = 0;
	agent_child_stop(c);
}

static void pause_child(struct agent *a, struct agent_child *c)
{
	take_step(a, c, AGENT_PAUSE);
	c->state = AGENT_PAUSED;
}

static void reduce_cpu(struct agent *a)
{
	struct agent_child *c = find_costly(a, true);

	a->calm_needed = MIN(2 * a->calm_needed, (unsigned)CALM_MAX);
	if (c) {
		take_step(a, c, AGENT_LOWER);
		c->halved++;
		log_warn("[%s] lowered to %llu Hz (-F %llu is configured): %.2f%% of a CPU is "
			 "used, max-cpu is %.2f%%",
			c->name, (unsigned long long)agent_child_freq(c),
			(unsigned long long)c->freq, a->steady * 100, a->config.max_cpu * 100);
	} else if ((c = find_costly(a, false))) {
		pause_child(a, c);
		log_warn("[%s] paused: %.2f%% of a CPU is used, max-cpu is %.2f%%, and no running "
			 "profiler has a frequency above 1 Hz",
			c->name, a->steady * 100, a->config.max_cpu * 100);
	}
}

static void reduce_memory(struct agent *a)
{
	struct agent_child *c = find_largest(a);
	bool is_new;

	if (!c)
		return;
	is_new = c->checks < 3;
	if (is_new)
		pause_child(a, c);
	else
		take_step(a, c, AGENT_LOWER);
	log_warn("[%s] %s: %llu MiB are used, max-memory is %llu MiB", c->name,
		is_new ? "paused" : "restarted to free memory", (unsigned long long)(a->rss >> 20),
		(unsigned long long)(a->config.max_memory >> 20));
}

static void raise_cpu(struct agent *a)
{
	vec_each (&a->children, it) {
		struct agent_child *c = *it;

		if (c->state != AGENT_PAUSED || c->pid || c->removed)
			continue;
		take_step(a, c, AGENT_RESUME);
		c->state = AGENT_WAITS;
		c->due = 0;
		log_note("[%s] resumed", c->name);
		return;
	}
	vec_each (&a->children, it) {
		struct agent_child *c = *it;

		if (!c->halved || !runs(c))
			continue;
		take_step(a, c, AGENT_RAISE);
		c->halved--;
		log_note(
			"[%s] raised to %llu Hz", c->name, (unsigned long long)agent_child_freq(c));
		return;
	}
}

static bool is_calm(const struct agent *a)
{
	const struct agent_config *c = &a->config;

	return (c->max_cpu == 0 || a->steady < CALM_SHARE * c->max_cpu) &&
	       (!c->max_memory || (double)a->rss < CALM_SHARE * (double)c->max_memory);
}

static void keep_within(struct agent *a)
{
	if (a->config.max_cpu > 0 && a->steady > a->config.max_cpu)
		reduce_cpu(a);
	else if (a->config.max_memory && a->rss > a->config.max_memory)
		reduce_memory(a);
	else if (!is_calm(a))
		a->calm = 0;
	else if (++a->calm >= a->calm_needed)
		raise_cpu(a);
}

void agent_limit_check(struct agent *a)
{
	uint64_t now = base_now();

	if (!a->check_due) { /* the first time: profilers are starting */
		a->checked = now;
		a->own_ns = own_cpu_ns();
		a->settling = true;
		a->calm_needed = CALM_FIRST;
	} else if (now < a->check_due) {
		return;
	} else {
		measure(a, now);
		if (a->settling)
			a->settling = false;
		else
			keep_within(a);
	}
	a->check_due = now + a->config.check_ns;
}
