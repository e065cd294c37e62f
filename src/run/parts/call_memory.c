/* SPDX-License-Identifier: MIT */
/*
 * Memory of system calls for profilers that print them: a program in the kernel copies it, where
 * that is allowed.
 */
#include <time.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "bpf/call_memory.h"
#include "perf/target.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/events/open.h"

enum { COPIED_NS = 20000000 /* from the event of a call to the end of the copy */ };

struct run_call_memory {
	bool was_tried;
	struct call_memory *memory; /* NULL: there is no program */
};

PART_STATE(call_memory_of, struct run_call_memory, PART_CALL_MEMORY)

/* Whether the processes of the target are known: other options select by what tasks are in. */
static bool follows_processes(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;

	return !o->all_cpus && !o->tids && !o->cgroups && !o->containers && !o->pods && !o->units &&
	       !o->comms && !o->ports && !run->select.is_on && (o->pids || run->command.argv);
}

static int call_memory_give_up(struct run_call_memory *c, int r)
{
	if (r >= 0 || r == -ENOMEM)
		return r;
	log_debug("%s", attar_error());
	attar_error_clear();
	c->memory = call_memory_free(c->memory);
	return 0;
}

int run_copy_call(struct attar_run *run, uint32_t number, unsigned i, const struct calls_copy *copy)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	struct run_call_memory *c = call_memory_of(run);
	int r = 0;

	if (!c->was_tried && attar_run_is_live(run) && !run->opts.pulls.n &&
		(!run->opts.in_kernel || strcmp(run->opts.in_kernel, "no") != 0))
		r = call_memory_new(getpid(), follows_processes(run), &c->memory);
	c->was_tried = true;
	if (r == 0 && c->memory)
		r = call_memory_want(c->memory, number, i, copy);
	r = call_memory_give_up(c, r);
	return r < 0 ? r : c->memory != NULL;
}

static int follow_target(struct attar_run *run, struct call_memory *memory)
{
	const parse_ints *pids = run->opts.pids ? target_processes(run->target, false) : NULL;
	int r = 0;

	if (run->opts.pids && !pids)
		return base_oom();
	for (size_t i = 0; r == 0 && pids && i < pids->n; i++)
		r = call_memory_follow(memory, pids->at[i]);
	if (r == 0 && run->command.argv)
		r = call_memory_follow(memory, run->target->command.pid);
	return r;
}

static int call_memory_begin(struct attar_run *run, void *self)
{
	struct run_call_memory *c = self;
	int r = 0;

	if (c->memory && follows_processes(run))
		r = follow_target(run, c->memory);
	if (r == 0 && c->memory)
		r = call_memory_attach(c->memory);
	return call_memory_give_up(c, r);
}

/* An event can be read while the program still copies on another CPU. */
int run_copied_call(struct attar_run *run, const struct calls_made *call,
	struct calls_copied items[CALLS_COPY_ARGS], uint64_t ret_args[CALLS_COPY_ARGS])
{
	const struct timespec pause = {.tv_nsec = 50000};
	struct run_call_memory *c = call_memory_of(run);
	bool is_late = false;
	int r;

	if (!c->memory)
		return 0;
	while ((r = call_memory_take(c->memory, call, is_late, items, ret_args)) == 0) {
		if (base_now() > call->ended + COPIED_NS)
			is_late = true;
		else
			nanosleep(&pause, NULL);
		call_memory_read(c->memory);
	}
	return r > 0;
}

/* Also while no call is printed: the ring of the program would fill up. */
static int call_memory_round(struct attar_run *run, void *self)
{
	struct run_call_memory *c = self;

	if (c->memory)
		call_memory_read(c->memory);
	return 0;
}

static void call_memory_done(struct attar_run *run, void *self)
{
	struct run_call_memory *c = self;

	c->memory = call_memory_free(c->memory);
}

const struct run_part part_call_memory = {.size = sizeof(struct run_call_memory),
	.begin = call_memory_begin,
	.round = call_memory_round,
	.free = call_memory_done};
