/* SPDX-License-Identifier: MIT */
/*
 * ustring() of the arguments of system calls, and the arguments of programs that are executed: a
 * program in the kernel copies them when the call is made, where that is allowed. Otherwise they
 * are read from the memory of the program, or unknown.
 */
#include "run/parts/texts.h"

#include <time.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/vec.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/events/open.h"
#include "stream/stream.h"

enum {
	FIRST_ARGUMENT = 16, /* of the records of sys_enter tracepoints */
	ARGUMENT_BYTES = 8,
	ENTERED_NS = 1000000, /* from the event to the copy, without a preemption */
	COPIED_NS = 50000000, /* from the event of an exec to the end of the copy */
	CALL_NS = 10000000,   /* from an event to the end of its call: texts are kept as long */
};

struct run_texts {
	bool was_tried, only;
	uint64_t ended;      /* when the call has ended; 0: unknown */
	uint64_t given;      /* texts, to expressions */
	uint64_t lost;       /* texts */
	struct texts *texts; /* NULL: there is no program */
	struct buf strings;  /* of an exec */
};

SHARED_STATE(texts_of, struct run_texts, TEXTS)

static bool is_text(const struct attar_field *field)
{
	return field->is_pointer && field->offset >= FIRST_ARGUMENT && strstr(field->type, "char");
}

static int want_arguments(struct texts *texts, const struct attar_format *format)
{
	const char *name = format->name + strlen("sys_enter_");
	int r = 0;

	for (size_t i = 0; r == 0 && i < format->n_fields; i++)
		if (is_text(&format->fields[i]))
			r = texts_want(texts, name,
				(format->fields[i].offset - FIRST_ARGUMENT) / ARGUMENT_BYTES);
	return r;
}

static bool reads_texts(const struct attar_event_spec *spec)
{
	for (size_t i = 0; i < spec->n_options; i++)
		if (spec->options[i].value && strstr(spec->options[i].value, "ustring("))
			return true;
	return false;
}

/* Without the program, texts are unknown, as remarks say. */
static int texts_load(struct attar_run *run, unsigned what)
{
	struct run_texts *t = texts_of(run);
	int r = 0;

	if (!t->was_tried && (!run->opts.in_kernel || strcmp(run->opts.in_kernel, "no") != 0))
		r = texts_new(what, getpid(), &t->texts);
	t->was_tried = true;
	return r;
}

static int texts_give_up(struct run_texts *t, int r)
{
	if (r >= 0 || r == -ENOMEM)
		return r;
	log_debug("%s", attar_error());
	attar_error_clear();
	t->texts = texts_free(t->texts);
	return 0;
}

static int texts_added(
	struct attar_run *run, void *self, const struct attar_event_spec *spec, attar_event_fn *fn)
{
	struct run_texts *t = self;
	int r;

	if (!spec->format || strncmp(spec->format->name, "sys_enter_", 10) != 0 ||
		!attar_run_is_live(run) || run->opts.pulls.n || !reads_texts(spec))
		return 0;
	r = texts_load(run, TEXTS_COPY_CALLS);
	if (r == 0 && t->texts)
		r = want_arguments(t->texts, spec->format);
	return texts_give_up(t, r);
}

int run_copy_execs(struct attar_run *run, bool fails)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	struct run_texts *t = texts_of(run);
	int r = 0;

	if (attar_run_is_live(run) && !run->opts.pulls.n)
		r = texts_load(run, TEXTS_COPY_EXECS | (fails ? TEXTS_COPY_FAILED_EXECS : 0));
	r = texts_give_up(t, r);
	return r < 0 ? r : t->texts != NULL;
}

static int texts_begin(struct attar_run *run, void *self)
{
	struct run_texts *t = self;

	return texts_give_up(t, t->texts ? texts_attach(t->texts) : 0);
}

/* Before an event of this time is delivered: texts of earlier ones are not needed any more. */
static void read_until(struct run_texts *t, uint64_t time)
{
	texts_read(t->texts, time > CALL_NS ? time - CALL_NS : 0);
}

enum texts_found run_text_of_call(struct attar_run *run, const struct attar_expr_record *record,
	uint64_t address, char *ret_text, size_t max, size_t *ret_n)
{
	struct run_texts *t = texts_of(run);
	uint64_t until = t->ended ?: record->time + ENTERED_NS;
	enum texts_found found;
	const char *text;
	size_t n;

	if (!t->texts)
		return TEXTS_NONE;
	found = texts_get(t->texts, record->tid, address, record->time, until, &text, &n);
	/* A text that was not in memory at the entry of a long call is behind later ones. */
	for (int i = 0; found != TEXTS_FOUND && i < 2; i++) {
		read_until(t, i == 0 ? record->time : until);
		found = texts_get(t->texts, record->tid, address, record->time, until, &text, &n);
	}
	t->given += found == TEXTS_FOUND;
	t->lost += found == TEXTS_LOST;
	if (found != TEXTS_FOUND)
		return found;
	*ret_n = MIN(n, max);
	memcpy(ret_text, text, *ret_n);
	return found;
}

/* The event can be read while the program still copies on another CPU. */
static int get_exec(struct run_texts *t, const struct attar_event *ev, struct texts_exec *ret_exec)
{
	const struct timespec pause = {.tv_nsec = 50000};
	int r;

	buf_reset(&t->strings);
	read_until(t, ev->time);
	while ((r = texts_get_exec(t->texts, ev->thread->tid, ev->time, &t->strings, ret_exec)) ==
		TEXTS_NONE) {
		bool is_late = base_now() > ev->time + COPIED_NS;

		read_until(t, ev->time);
		if (is_late)
			return texts_get_exec(
				t->texts, ev->thread->tid, ev->time, &t->strings, ret_exec);
		nanosleep(&pause, NULL);
	}
	return r;
}

int run_copied_exec(struct attar_run *run, const struct attar_event *ev, struct run_exec *ret_exec)
{
	struct run_texts *t = texts_of(run);
	struct texts_exec exec;
	int r;

	if (!t->texts)
		return 0;
	r = get_exec(t, ev, &exec);
	if (r < 0)
		return r;
	*ret_exec = (struct run_exec){.is_lost = r != TEXTS_FOUND,
		.is_cut = exec.is_cut,
		.n_unread = exec.n_unread,
		.strings = t->strings.data,
		.size = t->strings.len};
	return 1;
}

bool run_reads_only_copies(const struct attar_run *run)
{
	return texts_of(run)->only;
}

void run_read_copies(struct attar_run *run, bool only, uint64_t ended)
{
	texts_of(run)->only = only;
	texts_of(run)->ended = ended;
}

uint64_t run_copied_texts(const struct attar_run *run)
{
	return texts_of(run)->given;
}

uint64_t run_lost_texts(const struct attar_run *run)
{
	return texts_of(run)->lost;
}

void run_remark_lost_texts(struct attar_report *report, uint64_t n)
{
	if (n)
		attar_report_remark(report,
			"%llu string%s of system calls %s lost ('[lost]'): the buffer of the "
			"program that copies them in the kernel was full",
			(unsigned long long)n, PLURAL_S(n), n == 1 ? "was" : "were");
}

/* Also while no event asks for a text: the ring of the program would fill up. */
static int texts_round(struct attar_run *run, void *self)
{
	struct run_texts *t = self;

	if (t->texts)
		read_until(t, run->stream ? stream_horizon(run->stream) : UINT64_MAX);
	return 0;
}

static void texts_done(struct attar_run *run, void *self)
{
	struct run_texts *t = self;

	t->texts = texts_free(t->texts);
	buf_done(&t->strings);
}

const struct run_part part_texts = {.size = sizeof(struct run_texts),
	.added = texts_added,
	.begin = texts_begin,
	.round = texts_round,
	.free = texts_done};
