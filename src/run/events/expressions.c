/* SPDX-License-Identifier: MIT */
/* Expressions of users on the events of a run: attributes such as key=, and options. */
#include "run/events/expressions.h"

#include "attar/private/event.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "base/proc_memory.h"
#include "event/kernel_filter.h"
#include "expr/filter.h"
#include "perfdata/running_kernel.h"
#include "run/input/hosts.h"
#include "run/input/replay.h"
#include "run/input/replay_names.h"
#include "run/parts/texts.h"
#include "run/parts/names.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "source/expr_names.h"

enum { PRINTED_MAX = 1 << 16 };

/* What printf() has written, see attar_run_printed(). */
static struct buf *printed_of(const struct attar_run *run)
{
	return run->parts.state[PART_EXPRESSIONS];
}

static size_t kernel_symbol(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct attar_run *run = ctx;

	return expr_name_code(run->symbols, run_kernel_location(run, number), ret_text, max);
}

static size_t user_symbol(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct attar_run *run = ctx;

	return expr_name_user(run->symbols, run->stream, record->tid, number, ret_text, max);
}

static size_t comm_of(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct attar_run *run = ctx;

	return expr_name_comm(run->stream, (pid_t)number, ret_text, max);
}

static size_t group_of_task(void *ctx, const struct attar_expr_record *record,
	enum attar_expr_group group, int32_t tid, char *ret_text, size_t max)
{
	static const enum run_name kinds[] = {[ATTAR_EXPR_CGROUP] = RUN_NAME_CGROUP,
		[ATTAR_EXPR_UNIT] = RUN_NAME_UNIT,
		[ATTAR_EXPR_CONTAINER] = RUN_NAME_CONTAINER,
		[ATTAR_EXPR_POD] = RUN_NAME_POD};
	struct attar_run *run = ctx;
	const char *name;
	size_t n;

	if (!record) {
		names_ask(run);
		return 0;
	}
	name = names_of_tid(run, kinds[group], tid);
	n = strnlen(name, max);
	memcpy(ret_text, name, n);
	return n;
}

/* The length of a text; 0: it has control characters, and is what the memory is used for now. */
static size_t printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return 0;
	return n;
}

/* The file of a descriptor may have changed since the event. */
static void note_late_read(struct attar_run *run, const struct attar_expr_record *record)
{
	uint64_t now = base_now();

	run->notes.late_reads++;
	if (now > record->time)
		run->notes.latest_read = MAX(run->notes.latest_read, now - record->time);
}

/* What would be read now may be of another call. */
static size_t not_read(struct attar_run *run, bool is_lost, char *ret_text, size_t max)
{
	const char *text = is_lost ? "[lost]" : "[unknown]";
	size_t n = MIN(max, strlen(text));

	run->notes.unknown_texts += !is_lost;
	run->notes.lost_texts += is_lost;
	memcpy(ret_text, text, n);
	return n;
}

/* A recording has neither the memory nor the files of programs. */
static size_t not_recorded(struct attar_run *run)
{
	run->notes.unrecorded++;
	return 0;
}

void run_trust_reads(struct attar_run *run, bool trusts)
{
	run->notes.trusts_reads = trusts;
	if (trusts && !run->notes.holds_memory)
		proc_memory_hold();
	run->notes.holds_memory |= trusts;
}

static void expressions_free(struct attar_run *run, void *self)
{
	if (run->notes.holds_memory)
		proc_memory_release();
	buf_done(self);
}

#define EMPTY "\"\"" /* 0 bytes would be no text */

/*
 * The text at an address of the process, as it is now; 0: the process has exited or has other data
 * there, or the recording does not have it.
 */
static size_t text_in_process(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct attar_run *run = ctx;
	size_t n = 0, page = 4096 - number % 4096;
	enum texts_found found;
	ssize_t got;

	if (!number || record->tid <= 0)
		return 0;
	if (run->replay)
		return not_recorded(run);
	found = run_text_of_call(run, record, number, ret_text, max, &n);
	if (found == TEXTS_FOUND && !n) {
		n = MIN(max, strlen(EMPTY));
		memcpy(ret_text, EMPTY, n);
	}
	if (found == TEXTS_FOUND || run_reads_only_copies(run))
		return n;
	if (!run->notes.trusts_reads)
		return not_read(run, found == TEXTS_LOST, ret_text, max);
	for (size_t want = MIN(page, max); n < max; want = MIN((size_t)4096, max - n)) {
		const char *end;

		got = proc_memory_read(record->tid, number + n, ret_text + n, want);
		if (got <= 0)
			return n;
		end = memchr(ret_text + n, '\0', (size_t)got);
		if (end == ret_text)
			return 0;
		if (end)
			return printable(ret_text, (size_t)(end - ret_text));
		n += (size_t)got;
	}
	return n;
}

/* The file of a descriptor, as it is now. */
static size_t file_in_process(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct attar_run *run = ctx;
	char path[64];
	ssize_t n;

	if (record->tid <= 0)
		return 0;
	if (run->replay)
		return not_recorded(run);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", record->tid, (int)number);
	n = readlink(path, ret_text, max);
	if (n < 0 && errno == ENOENT && record->pid > 0) { /* the thread has exited */
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", record->pid, (int)number);
		n = readlink(path, ret_text, max);
	}
	if (n > 0 && !run->notes.trusts_reads)
		note_late_read(run, record);
	return n > 0 ? (size_t)n : 0;
}

static void take_output(void *ctx, const char *text, size_t n)
{
	struct attar_run *run = ctx;

	run = hosts_of(run)->reads_for ?: run;

	if (printed_of(run)->len + n <= PRINTED_MAX)
		buf_add(printed_of(run), text, n);
}

const char *attar_run_printed(struct attar_run *run, size_t *ret_len)
{
	CHECK_ARG_OR(run, "run", "");
	CHECK_ARG_OR(ret_len, "ret_len", "");

	const char *text = buf_text(printed_of(run));

	*ret_len = printed_of(run)->len;
	printed_of(run)->len = 0; /* the text stays */
	return text;
}

void run_expr_opts(struct attar_run *run, struct attar_expr_opts *opts)
{
	opts->size = sizeof(*opts);
	opts->flags |= run->opts.allow_exec ? ATTAR_EXPR_ALLOW_EXEC : 0;
	if (run->replay && !this_arch_recorded(run->replay->recording))
		opts->flags |= ATTAR_EXPR_OTHER_ARCH;
	opts->ctx = run;
	opts->ksymbol = kernel_symbol;
	opts->usymbol = user_symbol;
	opts->comm_get = comm_of;
	opts->output = take_output;
	opts->fd_name = file_in_process;
	opts->ustring = text_in_process;
	opts->group_get = group_of_task;
}

int run_choose_filter(
	struct attar_run *run, const struct attar_event_spec *spec, struct filter_choice *choice)
{
	struct attar_expr_opts opts = {0};

	run_expr_opts(run, &opts);
	return source_filter_choose(spec, !run->replay, &opts, choice);
}

/* The attribute of the event whose expression is this text; NULL: the text has another origin. */
static const struct attar_event_option *find_origin(
	const struct attar_event_spec *spec, const char *text)
{
	size_t name;

	for (size_t i = 0; spec && i < spec->n_options; i++)
		if (event_option_expr(&spec->options[i], &name) == text)
			return &spec->options[i];
	return NULL;
}

/* The run that has the names and processes of the source's events. */
static struct attar_run *run_of(struct attar_run *run, uint32_t source)
{
	const struct source *s =
		source < run->sources.list.n ? &run->sources.list.at[source] : NULL;

	return s && s->use->host ? s->use->host->reader : run;
}

/* An error in an attribute is shown in the event string. */
static int new_expr(const char *text, const struct attar_event_spec *spec,
	struct attar_expr_opts *opts, struct attar_expr **ret_expr)
{
	const struct attar_event_option *origin = opts->ret_column ? NULL : find_origin(spec, text);
	unsigned column = 0;
	int r;

	if (origin)
		opts->ret_column = &column;
	r = attar_expr_new(text, spec && !opts->n_variables ? spec->format : NULL, opts, ret_expr);
	if (r < 0 && column)
		return spec_error(spec,
			origin->value_column + (unsigned)(text - origin->value) + column - 1, r);
	return r;
}

/* A program can register it later, but the expression is needed now. */
static bool is_unregistered(const struct attar_event_spec *spec)
{
	return spec && spec->kind == ATTAR_EVENT_USER && !spec->format;
}

static int refuse_unregistered(const struct attar_event_spec *spec, const char *text)
{
	return attar_fail(-EINVAL,
		"no program has registered the event '%s' yet: '%s' cannot be computed, because "
		"the fields of the event are unknown;" ATTAR_FIX
		"start the program before attar, not as its command, or use 'attar trace'",
		CLIP(spec->name), CLIP(text));
}

int attar_run_expr(struct attar_run *run, uint32_t source, const char *text,
	const struct attar_expr_opts *opts, struct attar_expr **ret_expr)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_expr, "ret_expr");

	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	struct attar_expr_opts o = {0};
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	run_expr_opts(run_of(run, source), &o);
	r = new_expr(text, spec, &o, ret_expr);
	if (r == -EINVAL && is_unregistered(spec))
		return refuse_unregistered(spec, text);
	return r < 0 ? replay_context(run, attar_run_source_name(run, source), r) : 0;
}

/* The flags with which profilers compile the expression of an attribute. */
static unsigned flags_of(const char *attribute)
{
	if (!strcmp(attribute, "key") || !strcmp(attribute, "comm") || !strcmp(attribute, "column"))
		return ATTAR_EXPR_KEY;
	return strcmp(attribute, "printkey") && strcmp(attribute, "index") &&
			       strcmp(attribute, "exec")
		       ? ATTAR_EXPR_CONDITION
		       : 0;
}

static int check_attribute(struct attar_run *run, const struct attar_event_spec *spec,
	const struct attar_event_option *option)
{
	static const struct attar_expr_variable key = {.name = "key", .is_signed = true};
	struct attar_expr_opts opts = {.flags = flags_of(option->name),
		.what = option->name,
		.n_variables = !strcmp(option->name, "printkey"),
		.variables = &key};
	size_t name;
	const char *text = event_option_expr(option, &name);
	struct attar_expr *expr = NULL;
	int r = 0;

	if (text) {
		run_expr_opts(run, &opts);
		r = new_expr(text, spec, &opts, &expr);
	}
	attar_expr_free(expr);
	return r < 0 ? replay_context(run, spec->name, r) : 0;
}

int run_check_attributes(struct attar_run *run, const struct attar_event_spec *spec)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_options && !is_unregistered(spec); i++)
		r = check_attribute(run, spec, &spec->options[i]);
	return r;
}

int run_count_filter(
	struct attar_run *run, struct attar_counter *counter, const struct attar_event_spec *spec)
{
	struct filter_choice choice = {.in_kernel = true};
	int r = run_choose_filter(run, spec, &choice);

	filter_free(choice.keep);
	if (r == 0 && !choice.in_kernel)
		return spec_error(spec, spec->filter_column,
			attar_fail(-EINVAL,
				"events are counted in the kernel, which cannot apply this filter: "
				"%s%s",
				choice.why,
				choice.is_of_users ? "; 'attar top' counts by such a filter" : ""));
	if (r == 0) {
		r = kernel_filter_count(counter, spec);
		if (r == -EINVAL)
			r = filter_refused(spec, spec->filter);
	}
	return r;
}

const struct run_part part_expressions = {.size = sizeof(struct buf), .free = expressions_free};
