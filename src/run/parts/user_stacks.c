/* SPDX-License-Identifier: MIT */
#include "run/parts/user_stacks.h"

#include "attar/builtin.h"
#include "attar/private/report.h"
#include "attar/private/perf.h"
#include "attar/private/unwind.h"
#include "attar/unwind.h"
#include "base/parse.h"
#include "perf/target.h"
#include "run/record/recorder.h"
#include "run/input/replay.h"
#include "run/parts.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "run/parts/kernel_stacks.h"
#include "source/modes.h"
#include "symbol/reader.h"
#include "symbol/source.h"
#include "symbol/symbols.h"
#include "unwind/frame_pointers.h"

static const char dwarf[] = "dwarf";

enum {
	DWARF_CHARS = sizeof(dwarf) - 1,
	MAX_STACK_DEFAULT = 127, /* of kernel.perf_event_max_stack */
};

/* Without --unwind, the method is chosen for each event. */
struct default_stacks {
	bool is_on;
	bool is_off;     /* run_keep_frame_pointers() */
	bool copies;     /* stacks of samples that the program does not take */
	bool has_copies; /* there are such samples */
	char *why;       /* there is no program; owned */
	char *fp;        /* the name of an event whose stacks are by frame pointers; owned */
};

struct run_user_stacks {
	bool by_cfi;                          /* --unwind dwarf, or auto where it is supported */
	bool is_auto;                         /* --unwind auto */
	struct default_stacks standard;       /* without --unwind */
	bool is_chosen;                       /* auto: according to the modules of the processes */
	struct frame_pointers frame_pointers; /* of these modules */
	bool by_lbr;                          /* --unwind lbr */
	bool by_kernel;                       /* --unwind kernel; by_cfi where it cannot be */
	uint32_t bytes;                       /* of the stack to copy; 0: the default */
};

static struct run_user_stacks *user_stacks_of(const struct attar_run *run)
{
	return run->parts.state[PART_USER_STACKS];
}

void run_keep_frame_pointers(struct attar_run *run)
{
	user_stacks_of(run)->standard.is_off = true;
}

bool user_stacks_are_by_lbr(const struct attar_run *run)
{
	return user_stacks_of(run)->by_lbr;
}

static int bad_method(const char *text)
{
	return attar_fail(-EINVAL,
		"--unwind: '%s' is not a method" ATTAR_FIX
		"use fp (frame pointers), dwarf (call frame information), dwarf,BYTES (BYTES of "
		"the stack are copied: a multiple of 8, at most %d), kernel (call frame "
		"information, without copies), lbr (last branch records), or auto",
		CLIP(text), ATTAR_UNWIND_STACK_MAX);
}

static int parse_bytes(const char *text, const char *digits, uint32_t *ret_bytes)
{
	uint64_t bytes;

	if (parse_size(digits, &bytes) < 0 || !bytes || bytes % 8 || bytes > ATTAR_UNWIND_STACK_MAX)
		return bad_method(text);
	*ret_bytes = (uint32_t)bytes;
	return 0;
}

bool user_stacks_is_method(const char *word)
{
	return !strcmp(word, "fp") || !strcmp(word, "auto") || !strcmp(word, "lbr") ||
	       !strcmp(word, "kernel") || !strcmp(word, dwarf) ||
	       (!strncmp(word, dwarf, DWARF_CHARS) && word[DWARF_CHARS] == ',');
}

/* By call frame information if this machine is supported, otherwise by frame pointers. */
static int prepare_auto(struct run_user_stacks *stacks)
{
	struct perf_event_attr attr = {0};

	stacks->is_auto = stacks->by_cfi = attar_unwind_attr(&attr, 0) == 0;
	stacks->by_kernel = stacks->by_cfi;
	attar_error_clear();
	return 0;
}

/* Reads --unwind. NULL: see complete_default(). */
static int read_method(struct run_user_stacks *stacks, const char *text)
{
	if (!text || !strcmp(text, "fp"))
		return 0;
	if (!strcmp(text, "auto"))
		return prepare_auto(stacks);
	if (!strcmp(text, "lbr")) {
		stacks->by_lbr = true;
		return 0;
	}
	if (!user_stacks_is_method(text))
		return bad_method(text);
	stacks->by_cfi = true;
	if (!strcmp(text, "kernel")) {
		stacks->by_kernel = true;
		return 0;
	}
	return text[DWARF_CHARS] ? parse_bytes(text, text + DWARF_CHARS + 1, &stacks->bytes) : 0;
}

/* Without the program, stacks are copied. */
static int open_program(struct attar_run *run, struct run_user_stacks *stacks)
{
	int r;

	stacks->by_kernel &= attar_run_is_live(run) &&
			     (!stacks->is_auto || run->profiler->uses & ATTAR_USES_SAMPLING);
	r = stacks->by_kernel ? kernel_stacks_open(run) : 0;
	if (r == 0 || r == -ENOMEM)
		return r;
	if (stacks->is_auto)
		log_debug("%s", attar_error());
	else
		log_note("--unwind kernel: stacks are copied instead, as by --unwind dwarf: %s",
			attar_error());
	attar_error_clear();
	stacks->by_kernel = false;
	return 0;
}

/* Applies --inline, --lines and the limit of stacks to the symbols of the run. */
static int user_stacks_prepare(struct attar_run *run, void *self)
{
	struct attar_symbols *symbols = attar_run_symbols(run);
	struct run_user_stacks *stacks = self;
	int r;

	/* a recording does not have the limit of its kernel */
	symbols->fp_stacks.limit = run->opts.input ? MAX_STACK_DEFAULT : rings_max_stack();
	symbols->show_inlined = run->opts.inline_functions;
	if (run->opts.java_map && attar_run_is_live(run))
		symbols_ask_java(symbols);
	symbols->show_lines = run->opts.lines;
	r = read_method(stacks, run->opts.unwind);
	if (r == 0)
		r = open_program(run, stacks);
	rings_of(run)->has_stacks = stacks->by_cfi && !stacks->by_kernel;
	return r;
}

static bool has_user_stacks(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_CALLCHAIN && !attr->exclude_callchain_user;
}

/*
 * Its rate is limited, unlike the rate of an event of which each is taken. max-stack= limits the
 * call chains of the kernel only.
 */
static bool is_sampled(const struct source *s)
{
	enum { ALL = 1000 }; /* fewer events for a sample are not samples */

	return s->attr.type != PERF_TYPE_TRACEPOINT && !modes_are_of_code(source_spec(s)) &&
	       !s->attr.sample_max_stack && (s->attr.freq || s->attr.sample_period >= ALL);
}

static bool is_for_default_program(const struct attar_run *run, const struct source *s)
{
	return is_sampled(s) && kernel_stacks_suit(run, s);
}

/* 1: the program takes the stacks of some events. 0: of none; -ENOMEM. */
static int open_default_program(struct attar_run *run, struct default_stacks *standard)
{
	bool is_needed = false;
	int r;

	vec_each (&run->sources.list, s)
		is_needed |= !s->use->host && has_user_stacks(&s->attr) &&
			     is_for_default_program(run, s);
	r = is_needed ? kernel_stacks_open(run) : 0;
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		standard->why = strdup(attar_error());
		log_debug("%s", attar_error());
		attar_error_clear();
		return standard->why ? 0 : base_oom();
	}
	return is_needed;
}

/*
 * Copies of stacks cost too much for a whole system. Events of which each is taken, and what is
 * recorded or pushed, keep the stacks of the kernel.
 */
static int complete_default(struct attar_run *run, struct run_user_stacks *stacks)
{
	struct default_stacks *standard = &stacks->standard;
	struct perf_event_attr attr = {0};
	int r;

	if (standard->is_off || run->opts.unwind || !attar_run_is_live(run) || run_records(run) ||
		run->opts.push)
		return 0;
	if (attar_unwind_attr(&attr, 0) < 0) {
		attar_error_clear();
		return 0;
	}
	r = open_default_program(run, standard);
	if (r < 0)
		return r;
	standard->is_on = stacks->by_cfi = true;
	stacks->by_kernel = r;
	standard->copies = !run_watches_system(run) && !run->opts.cgroups;
	vec_each (&run->sources.list, s)
		if (standard->copies && has_user_stacks(&s->attr) && is_sampled(s))
			rings_of(run)->has_stacks |= !kernel_stacks_can_take(run, s);
	return 0;
}

/* The stacks of sources that the program cannot take are copied. */
static int user_stacks_complete(struct attar_run *run, void *self)
{
	struct run_user_stacks *stacks = self;
	bool is_said = stacks->is_auto;
	int r = complete_default(run, stacks);

	if (r < 0 || stacks->standard.is_on)
		return r;
	vec_each (&run->sources.list, s) {
		if (!stacks->by_kernel || !(s->attr.sample_type & PERF_SAMPLE_CALLCHAIN) ||
			kernel_stacks_can_take(run, s))
			continue;
		rings_of(run)->has_stacks = true;
		if (!is_said)
			log_note("--unwind kernel: stacks of '%s' are copied, as by --unwind dwarf",
				s->name);
		is_said = true;
	}
	return 0;
}

/* The kernel's call chain stays: it has the innermost address, and the part of the kernel. */
static int set_lbr(struct perf_event_attr *attr)
{
	if (attr->exclude_user)
		return 0;
	attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				   PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
	return 0;
}

/*
 * Running processes whose modules all keep frame pointers need no copies of stacks. Modules of a
 * command, and of the processes of a whole system, are not known yet.
 */
static int user_stacks_choose(struct attar_run *run, struct run_user_stacks *stacks)
{
	struct attar_target *target = run->target;
	const parse_ints *pids;
	int r;

	if (!(stacks->is_auto || stacks->standard.is_on) || !stacks->by_cfi || stacks->is_chosen ||
		target->by_exec || target_kind_of(target) != ATTAR_TARGET_TASKS)
		return 0;
	pids = target_processes(target, false);
	r = frame_pointers_find(
		attar_run_symbols(run), pids->n ? pids : &target->tids, &stacks->frame_pointers);
	if (r < 0)
		return r;
	stacks->is_chosen = stacks->frame_pointers.modules || stacks->frame_pointers.without;
	stacks->by_cfi = !stacks->is_chosen || stacks->frame_pointers.without;
	return 0;
}

/* The event keeps the stacks that the kernel takes by frame pointers. */
static int keep_default(struct default_stacks *standard, const struct source *s)
{
	if (!standard->fp)
		standard->fp = strdup(s->name);
	return standard->fp ? 0 : base_oom();
}

/* Changes the attributes of an event with stacks accordingly. The target is known. */
static int user_stacks_attr(
	struct attar_run *run, void *self, const struct source *s, struct perf_event_attr *attr)
{
	struct run_user_stacks *stacks = self;
	struct default_stacks *standard = &stacks->standard;
	bool is_taken;
	int r;

	if (!has_user_stacks(attr))
		return 0;
	if (stacks->by_lbr)
		return set_lbr(attr);
	if (!stacks->by_cfi)
		return 0;
	is_taken = kernel_stacks_can_take(run, s);
	if (standard->is_on && !(is_sampled(s) && (is_taken || standard->copies)))
		return keep_default(standard, s);
	r = user_stacks_choose(run, stacks);
	if (r < 0 || !stacks->by_cfi)
		return r;
	if (is_taken) {
		kernel_stacks_take(run, s, attr);
		return 0;
	}
	standard->has_copies = standard->is_on;
	return attar_unwind_attr(attr, stacks->bytes);
}

int user_stacks_refused(const struct attar_run *run, const char *event, int error)
{
	if (!user_stacks_are_by_lbr(run) || error != -EOPNOTSUPP)
		return error;
	return attar_fail(error,
		"'%s' has no stacks from last branch records (--unwind lbr): only hardware events "
		"of Intel CPUs since Haswell have them, and few virtual machines support "
		"them" ATTAR_FIX "use --unwind dwarf",
		CLIP(event));
}

/* CPUs have 8, 16 or 32 records: with any other number of callers, the stack ended. */
static void remark_branches(const struct branch_stacks *stacks, struct attar_report *report)
{
	if (!stacks->n)
		return;
	if (stacks->most == 8 || stacks->most == 16 || stacks->most == 32)
		attar_report_remark(report,
			"user stacks from last branch records: %llu, of which %llu have %u "
			"callers: if the CPU has no more records, outer callers are missing",
			(unsigned long long)stacks->n, (unsigned long long)stacks->n_most,
			stacks->most);
	else
		attar_report_remark(report,
			"user stacks from last branch records: %llu, with up to %u caller%s",
			(unsigned long long)stacks->n, stacks->most, PLURAL_S(stacks->most));
}

static void remark_kept(const struct run_user_stacks *stacks, struct attar_report *report)
{
	attar_report_remark(report,
		"user stacks by frame pointers, which all modules of the processes keep (%zu)",
		stacks->frame_pointers.modules);
}

static void remark_auto(const struct attar_run *run, const struct run_user_stacks *stacks,
	const struct attar_unwind_stats *stats, struct attar_report *report)
{
	const struct kernel_stacks_callers in_kernel = kernel_stacks_get_callers(run);
	const struct frame_pointers *found = &stacks->frame_pointers;

	if (!stacks->by_cfi && stacks->is_chosen) {
		remark_kept(stacks, report);
		return;
	}
	if (stacks->is_chosen)
		attar_report_remark(report,
			"user stacks by call frame information: %s keeps no frame pointers",
			found->without);
	attar_report_remark(report,
		"callers in user code: %llu by call frame information, %llu by frame pointers, in "
		"code that has none",
		(unsigned long long)(stats->cfi_frames + in_kernel.by_cfi),
		(unsigned long long)(stats->fp_frames + in_kernel.by_fp));
}

/* The program's stacks are in a remark of their own. */
static void remark_default(const struct run_user_stacks *stacks, struct attar_report *report)
{
	const struct default_stacks *standard = &stacks->standard;

	if (!stacks->by_cfi && stacks->is_chosen)
		remark_kept(stacks, report);
	else if (standard->has_copies)
		attar_report_remark(report,
			"user stacks by call frame information, from copies of %d bytes%s%s",
			ATTAR_UNWIND_STACK_DEFAULT, standard->why ? ": " : "", standard->why ?: "");
	if (standard->fp)
		attar_report_remark(report, "user stacks of '%s' by frame pointers%s%s",
			standard->fp, standard->why ? ": " : "", standard->why ?: "");
}

/* What finds callers without frame pointers, unless only events have stacks: attribute stack. */
static const char *remedy(const struct attar_run *run)
{
	if (!options_find(options_of(run), "unwind", NULL))
		return "";
	return run->replay ? "; a recording with --call-graph=dwarf finds callers without them"
			   : "; --call-graph dwarf finds callers without them";
}

/* Most code of distributions keeps no frame pointers. */
static void remark_fp(
	const struct attar_run *run, const struct fp_stacks *stacks, struct attar_report *report)
{
	enum { ENOUGH = 20 };

	if (stacks->n < ENOUGH || stacks->n_alone <= stacks->n / 2)
		return;
	attar_report_remark(report,
		"user stacks without callers: %llu of %llu, since the code keeps no frame "
		"pointers%s",
		(unsigned long long)stacks->n_alone, (unsigned long long)stacks->n, remedy(run));
}

/* A recording does not have the limit of its kernel: it is taken to be the default. */
static void remark_full(const struct fp_stacks *stacks, struct attar_report *report)
{
	if (stacks->n_full)
		report_detail(report,
			"stacks of %u frames, the limit at which the kernel cuts stacks: %llu; "
			"sysctl kernel.perf_event_max_stack=512 raises the limit",
			stacks->limit, (unsigned long long)stacks->n_full);
}

static void remark_foreign(
	const struct attar_run *run, uint64_t stacks, struct attar_report *report)
{
	const char *arch = run->replay ? recording_get_facts(run->replay->recording)->arch : NULL;

	if (stacks)
		attar_report_remark(report,
			"user stacks without callers: %llu, which were recorded on %s: only those "
			"of x86-64 and arm64 can be unwound from registers",
			(unsigned long long)stacks, arch ?: "another architecture");
}

uint64_t user_stacks_readers_cpu(const struct attar_run *run)
{
	return run->symbols ? readers_cpu(run->symbols->readers) : 0;
}

static void remark_unreadable(const struct attar_symbols *symbols, struct attar_report *report)
{
	size_t n;
	const struct dso *dso = readers_failed(symbols, &n);

	if (dso)
		attar_report_remark(report,
			"%zu file%s could not be read, such as %s (%s): the functions have no "
			"names, and the path is shown as %s",
			n, PLURAL_S(n), dso->key.path, dso_lost_reason(dso), dso->apart.shown);
}

/* Incomplete stacks, and inlined functions that are missing in them. */
static void user_stacks_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct run_user_stacks *taken = self;
	struct attar_unwind_stats stats;
	struct attar_symbols *symbols = attar_run_symbols(run);
	const char *missing = source_missing(&symbols->sources);

	if (missing)
		attar_report_remark(report, "%s", missing);
	remark_unreadable(symbols, report);
	if (!taken->by_kernel || !taken->by_cfi || taken->standard.fp) {
		remark_fp(run, &symbols->fp_stacks, report);
		remark_full(&symbols->fp_stacks, report);
	}
	remark_branches(&symbols->branch_stacks, report);
	remark_foreign(run, symbols->foreign_stacks, report);
	unwind_get_stats(symbols, &stats);
	if (taken->is_auto)
		remark_auto(run, taken, &stats, report);
	if (taken->standard.is_on)
		remark_default(taken, report);
	if (stats.by_end[ATTAR_UNWIND_TRUNCATED])
		attar_report_remark(report,
			"user stacks cut because they are deeper than the copied %u bytes: %llu of "
			"%llu; --unwind dwarf,BYTES copies more",
			taken->bytes ? taken->bytes : ATTAR_UNWIND_STACK_DEFAULT,
			(unsigned long long)stats.by_end[ATTAR_UNWIND_TRUNCATED],
			(unsigned long long)stats.stacks);
	if (symbols->cut_stacks.n)
		attar_report_remark(report,
			"user stacks cut because they have more than %u frames, with those of the "
			"kernel: %llu of %llu",
			symbols->cut_stacks.frames, (unsigned long long)symbols->cut_stacks.n,
			(unsigned long long)stats.stacks);
	if (stats.by_end[ATTAR_UNWIND_OTHER_STACK])
		attar_report_remark(report,
			"user stacks cut because a signal handler runs on an alternate stack "
			"(sigaltstack(2)), and only that is copied: %llu of %llu; --unwind fp "
			"shows the interrupted code if the program keeps frame pointers",
			(unsigned long long)stats.by_end[ATTAR_UNWIND_OTHER_STACK],
			(unsigned long long)stats.stacks);
	if (stats.by_end[ATTAR_UNWIND_LOST])
		attar_report_remark(report,
			"user stacks that end at code without call frame information or frame "
			"pointer: %llu of %llu",
			(unsigned long long)stats.by_end[ATTAR_UNWIND_LOST],
			(unsigned long long)stats.stacks);
}

static void user_stacks_free(struct attar_run *run, void *self)
{
	struct run_user_stacks *stacks = self;

	free(stacks->standard.why);
	free(stacks->standard.fp);
}

const struct run_part part_user_stacks = {.size = sizeof(struct run_user_stacks),
	.prepare = user_stacks_prepare,
	.complete = user_stacks_complete,
	.attr = user_stacks_attr,
	.remark = user_stacks_remark,
	.free = user_stacks_free};
