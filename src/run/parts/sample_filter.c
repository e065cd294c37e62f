/* SPDX-License-Identifier: MIT */
#include "run/parts/sample_filter.h"

#include <unistd.h>

#include "base/base.h"
#include "perf/bpf_filter.h"
#include "run/parts/emitters.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "source/modes.h"

struct sample_filter {
	bool is_on;
	parse_ints excluded; /* processes */
	unsigned flags;      /* bits of common_flags that count */
	unsigned wanted;     /* their value */
	unsigned host_modes; /* --exclude-host, --exclude-guest: samples in these, perf/modes.h */
	/* of recordings; modes 0: all */
	unsigned modes;      /* samples in these, of events other than tracepoints and probes */
	unsigned call_modes; /* the parts of call chains in these */
	bool drops_calls;    /* there are other parts */
	bool no_user_calls;
	VEC(uint64_t) calls; /* the call chain of the current sample */
	const char *by_bpf;  /* the first option that only a BPF program can apply; NULL: none */
	int bpf_fd;          /* of the program, once it is loaded; 0: it is not */
};

PART_STATE(sample_filter_of, struct sample_filter, PART_SAMPLE_FILTER)

enum { PID_MAX = 4 << 20 };

/*
 * Bits of the field common_flags of tracepoints: TRACE_FLAG_* of the kernel. Since Linux 6.13 a
 * task can be rescheduled lazily; before, architectures without irq flags had the second bit.
 */
enum { FLAG_IRQS_OFF = 0x01, FLAG_NEED_RESCHED_LAZY = 0x02, FLAG_NEED_RESCHED = 0x04 };

static int add_flag(struct sample_filter *filter, const char *name, const char *value, unsigned bit)
{
	if (!value)
		return 0;
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return attar_fail(-EINVAL, "--%s: '%s' is not 0 or 1", name, CLIP(value));
	filter->flags |= bit;
	filter->wanted |= *value == '1' ? bit : 0;
	return 0;
}

bool sample_filter_is_on(const struct attar_run *run)
{
	return sample_filter_of(run)->is_on;
}

struct attar_run *sample_filter_run(struct attar_run *run, const struct source *s)
{
	return s->use->emission.emitter ? s->use->emission.emitter->run : run;
}

/* ---- the options of a BPF program ---- */

/* Bounds of the kernel: MAX_PRIO, and the policies of linux/sched.h. */
enum { PRIO_MAX_OF_KERNEL = 139, POLICY_MAX = 7 };

static const char *first_by_bpf(const struct common_opts *o)
{
	return o->nr_running_min   ? "nr_running_min"
	       : o->nr_running_max ? "nr_running_max"
	       : o->sched_policy   ? "sched_policy"
	       : o->prio           ? "prio"
				   : NULL;
}

/* Replaces the names of policies by their numbers. */
static void number_policies(const char *text, struct buf *ret_numbers)
{
	static const char *const names[] = {
		"normal", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext"};

	while (*text) {
		size_t n = strcspn(text, ","), i = 0;

		while (i < ARRAY_SIZE(names) &&
			(strlen(names[i]) != n || strncasecmp(names[i], text, n) != 0))
			i++;
		if (i < ARRAY_SIZE(names))
			buf_printf(ret_numbers, "%zu", i);
		else
			buf_add(ret_numbers, text, n);
		text += n;
		if (*text)
			buf_char(ret_numbers, *text++);
	}
}

static int read_policies(const char *text, parse_ints *ret_list)
{
	struct buf numbers _cleanup_(buf_done) = {0};
	int r;

	if (!text)
		return 0;
	number_policies(text, &numbers);
	r = parse_list(buf_text(&numbers), POLICY_MAX, ret_list);
	if (r == -ENOMEM || r >= 0)
		return r;
	attar_error_clear(); /* its text has numbers in place of the names that the user gave */
	return attar_fail(-EINVAL,
		"--sched_policy: '%s' is not a list of policies" ATTAR_FIX
		"use normal, fifo, rr, batch, idle, deadline, ext, or numbers from 0 to %d",
		CLIP(text), POLICY_MAX);
}

static int read_number(const char *name, const char *text, uint32_t *ret_value)
{
	uint64_t value;
	int r = text ? parse_u64(text, &value) : 0;

	if (r < 0 || !text)
		return r < 0 ? attar_context(r, "--%s", name) : 0;
	if (value > INT32_MAX)
		return attar_fail(-ERANGE, "--%s: %s exceeds the number of tasks", name, text);
	*ret_value = (uint32_t)value;
	return 0;
}

static int read_bpf(const struct common_opts *o, struct bpf_filter *ret_filter)
{
	int r = 0;

	if (o->prio && (r = parse_list(o->prio, PRIO_MAX_OF_KERNEL, &ret_filter->prios)) < 0)
		return attar_context(r, "--prio");
	r = read_policies(o->sched_policy, &ret_filter->policies);
	if (r == 0)
		r = read_number("nr_running_min", o->nr_running_min, &ret_filter->running_min);
	if (r == 0)
		r = read_number("nr_running_max", o->nr_running_max, &ret_filter->running_max);
	if (r == 0 && ret_filter->running_min > ret_filter->running_max)
		return attar_fail(-EINVAL,
			"--nr_running_min exceeds --nr_running_max: nothing would be sampled");
	if (o->irqs_disabled)
		ret_filter->irqs_disabled = *o->irqs_disabled == '1';
	if (o->tif_need_resched)
		ret_filter->need_resched = *o->tif_need_resched == '1';
	return r;
}

/* The first option for which a program is needed. */
static const char *option_of_bpf(const struct sample_filter *filter)
{
	return filter->by_bpf                  ? filter->by_bpf
	       : filter->flags & FLAG_IRQS_OFF ? "irqs_disabled"
					       : "tif_need_resched";
}

/* Checks the options, and loads the program if they are to take effect. */
static int use_bpf(struct attar_run *run, bool load)
{
	struct bpf_filter filter = {
		.running_max = UINT32_MAX, .irqs_disabled = -1, .need_resched = -1};
	int r = read_bpf(&run->opts, &filter);

	if (r == 0 && load && (r = bpf_filter_load(&filter, &sample_filter_of(run)->bpf_fd)) < 0)
		r = attar_context(r, "--%s", option_of_bpf(sample_filter_of(run)));
	vec_done(&filter.prios);
	vec_done(&filter.policies);
	return r;
}

static bool is_tracepoint_or_probe(const struct source *s)
{
	return s->attr.type == PERF_TYPE_TRACEPOINT || modes_are_of_code(source_spec(s));
}

/*
 * The program of a tracepoint would drop it for other users, too; samples of other events are the
 * run's own.
 */
static bool can_have_bpf(const struct source *s)
{
	return !is_tracepoint_or_probe(s);
}

bool sample_filter_has_program(const struct attar_run *run, const struct source *s)
{
	const struct sample_filter *filter = sample_filter_of(run);

	return can_have_bpf(s) && (filter->by_bpf || filter->flags);
}

int sample_filter_attach(struct attar_run *run, const struct source *s)
{
	struct sample_filter *filter = sample_filter_of(run);
	int r = 0;

	if (!sample_filter_has_program(run, s))
		return 0;
	if (!filter->bpf_fd)
		r = use_bpf(run, true);
	return r == 0 ? attar_counter_attach_bpf(s->counter, filter->bpf_fd) : r;
}

/* ---- */

static unsigned modes_without(bool user, bool kernel)
{
	const struct perf_event_attr attr = {
		.exclude_user = user, .exclude_kernel = kernel, .exclude_hv = kernel};

	return modes_of(&attr);
}

/* The kernel does this for live samples, see run_stack_attr(). */
static void filter_recorded(struct sample_filter *filter, const struct common_opts *o)
{
	const bool no_kernel_calls = o->exclude_kernel || o->kernel_callchain == 0;

	filter->no_user_calls = o->exclude_user || o->user_callchain == 0;
	filter->drops_calls = filter->no_user_calls || no_kernel_calls;
	filter->modes = modes_without(o->exclude_user, o->exclude_kernel);
	filter->call_modes = modes_without(filter->no_user_calls, no_kernel_calls);
}

static void filter_hosts(struct sample_filter *filter, const struct common_opts *o)
{
	const struct perf_event_attr attr = {
		.exclude_host = o->exclude_host, .exclude_guest = o->exclude_guest};

	filter->host_modes = modes_of(&attr);
}

int sample_filter_open(struct attar_run *run)
{
	struct sample_filter *filter = sample_filter_of(run);
	const struct common_opts *o = &run->opts;
	int r = use_bpf(run, false);

	filter->by_bpf = first_by_bpf(o);
	if (r == 0)
		r = add_flag(filter, "irqs_disabled", o->irqs_disabled, FLAG_IRQS_OFF);
	if (r == 0)
		r = add_flag(filter, "tif_need_resched", o->tif_need_resched, FLAG_NEED_RESCHED);
	if (r == 0 && o->exclude_pid &&
		(r = parse_list(o->exclude_pid, PID_MAX, &filter->excluded)) < 0)
		return attar_context(r, "--exclude_pid");
	if (r == 0 && o->exclude_host && o->exclude_guest)
		return attar_fail(-EINVAL, "--exclude-host and --exclude-guest are mutually "
					   "exclusive: nothing would be sampled");
	filter_hosts(filter, o);
	if (o->input)
		filter_recorded(filter, o);
	filter->is_on = filter->flags || filter->excluded.n || o->exclude_host ||
			o->exclude_guest || filter->drops_calls;
	return r;
}

static void sample_filter_free(struct attar_run *run, void *self)
{
	struct sample_filter *filter = self;

	vec_done(&filter->excluded);
	vec_done(&filter->calls);
	if (filter->bpf_fd)
		close(filter->bpf_fd);
}

static const struct attar_field *flags_of(const struct source *s)
{
	const struct attar_event_spec *spec = source_spec(s);

	return spec && spec->format ? attar_format_field(spec->format, "common_flags") : NULL;
}

int sample_filter_check(const struct attar_run *run, const struct source *s)
{
	const struct sample_filter *filter = sample_filter_of(run);
	bool can = can_have_bpf(s) && !run->replay;
	unsigned flags = can ? 0 : filter->flags;

	if (filter->by_bpf && run->replay)
		return attar_fail(-EOPNOTSUPP,
			"--%s selects by data that a recording does not have", filter->by_bpf);
	if (filter->by_bpf && !can)
		return attar_fail(-EOPNOTSUPP,
			"--%s: a BPF program of '%s' would also drop it for its other "
			"users;" ATTAR_FIX
			"filter on its fields instead, such as sched:sched_switch/prev_prio<100/",
			filter->by_bpf, CLIP(s->name));
	if (!flags || flags_of(s))
		return 0;
	return attar_fail(-EOPNOTSUPP, "--%s requires tracepoints, and '%s' is not one",
		flags & FLAG_IRQS_OFF ? "irqs_disabled" : "tif_need_resched", CLIP(s->name));
}

static uint64_t context_marker(enum attar_code_context context)
{
	static const uint64_t markers[] = {
		[ATTAR_CONTEXT_KERNEL] = PERF_CONTEXT_KERNEL,
		[ATTAR_CONTEXT_USER] = PERF_CONTEXT_USER,
		[ATTAR_CONTEXT_HV] = PERF_CONTEXT_HV,
		[ATTAR_CONTEXT_GUEST_KERNEL] = PERF_CONTEXT_GUEST_KERNEL,
		[ATTAR_CONTEXT_GUEST_USER] = PERF_CONTEXT_GUEST_USER,
		[ATTAR_CONTEXT_GUEST] = PERF_CONTEXT_GUEST,
	};

	return markers[context] ?: PERF_CONTEXT_USER;
}

/* Copies the parts of a call chain that are not dropped, with their markers. */
static int copy_calls(struct sample_filter *filter, const struct attar_record *rec)
{
	struct attar_callchain chain;
	enum attar_code_context context = ATTAR_CONTEXT_UNKNOWN;
	uint64_t ip;

	filter->calls.n = 0;
	attar_callchain_init(&chain, rec->sample.callchain, rec->sample.callchain_nr, rec->misc);
	while (attar_callchain_next(&chain, &ip)) {
		if (!modes_have(filter->call_modes, (uint16_t)chain.context))
			continue;
		if (chain.context != context &&
			vec_push(&filter->calls, context_marker(chain.context)) < 0)
			return base_oom();
		context = chain.context;
		if (vec_push(&filter->calls, ip) < 0)
			return base_oom();
	}
	return 0;
}

int sample_filter_drop_calls(
	struct attar_run *run, struct attar_event *event, struct attar_record *copy)
{
	struct sample_filter *filter = sample_filter_of(run);
	struct attar_sample *sample = &copy->sample;

	if (!filter->drops_calls)
		return 0;
	if (copy_calls(filter, event->record) < 0)
		return -ENOMEM;
	*copy = *event->record;
	sample->callchain = filter->calls.at;
	sample->callchain_nr = (uint32_t)filter->calls.n;
	if (filter->no_user_calls) {
		sample->regs_user = (struct attar_regs){0};
		sample->stack_size = sample->branch_nr = 0;
		sample->stack = NULL;
	}
	event->record = copy;
	return 0;
}

bool sample_filter_keeps(
	const struct attar_run *run, const struct source *s, const struct attar_event *event)
{
	const struct sample_filter *filter = sample_filter_of(run);
	const struct attar_sample *sample = &event->record->sample;
	uint64_t flags;

	if (!modes_have(filter->host_modes, event->record->misc))
		return false;
	if (parse_ints_have(&filter->excluded, (int)event->record->pid))
		return false;
	if (!is_tracepoint_or_probe(s) && !modes_have(filter->modes, event->record->misc))
		return false;
	if (!filter->flags || !flags_of(s))
		return true;
	flags = attar_field_u64(flags_of(s), sample->raw, sample->raw_size);
	if (flags & FLAG_NEED_RESCHED_LAZY)
		flags |= FLAG_NEED_RESCHED;
	return (flags & filter->flags) == filter->wanted;
}

static int sample_filter_prepare(struct attar_run *run, void *self)
{
	return sample_filter_open(run);
}

const struct run_part part_sample_filter = {.size = sizeof(struct sample_filter),
	.prepare = sample_filter_prepare,
	.free = sample_filter_free};
