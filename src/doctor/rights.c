/* SPDX-License-Identifier: MIT */
/* Capabilities, and the settings that make them unnecessary. */
#include <linux/perf_event.h>
#include <string.h>

#include "base/check_arg.h"
#include "base/rights.h"
#include "doctor/checks.h"
#include "perf/capabilities.h"
#include "perf/kernel.h"
#include "perf/permission_error.h"

static const struct capability {
	int number;
	const char *name;
} capabilities[] = {
	{CAP_PERFMON, "cap_perfmon"},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search"},
	{CAP_SYSLOG, "cap_syslog"},
	{CAP_SYS_PTRACE, "cap_sys_ptrace"},
	{CAP_SYS_ADMIN, "cap_sys_admin"},
};

/* ---- whether the settings allow it without the capability ---- */

static bool allows_own_code(void)
{
	return permission_try_own_code(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) == 0;
}

static bool allows_whole_system(void)
{
	return kernel_get()->paranoid <= 0;
}

static bool allows_fields(void)
{
	return kernel_get()->paranoid < 0;
}

static bool is_ready(void (*check)(struct finding *f))
{
	struct finding f = {0};

	check(&f);
	attar_error_clear();
	buf_done(&f.detail);
	buf_done(&f.remedy);
	return f.state == ATTAR_CHECK_READY;
}

static bool allows_formats(void)
{
	return is_ready(check_tracefs);
}

static bool allows_kernel_names(void)
{
	return is_ready(check_kernel_symbols);
}

static bool allows_kprobes(void)
{
	return !capabilities_refuse_probes("kprobe");
}

static bool allows_uprobes(void)
{
	return !capabilities_refuse_probes("uprobe");
}

static bool allows_nothing(void)
{
	return false;
}

/* What a capability is needed for; those with the lowest settings are first. */
static const struct use {
	const char *need; /* as in attar_profiler.needs */
	int number;
	const char *gives;
	const char *setting; /* that makes it unnecessary; NULL: there is none */
	bool (*allows)(void);
} uses[] = {
	{"kprobes", CAP_PERFMON, "kprobes", NULL, allows_kprobes},
	{"tracefs", CAP_PERFMON, "fields of tracepoints", "kernel.perf_event_paranoid is -1",
		allows_fields},
	{"whole system", CAP_PERFMON, "other users' processes, the kernel",
		"kernel.perf_event_paranoid is at most 0", allows_whole_system},
	{"perf events", CAP_PERFMON, "own processes", "kernel.perf_event_paranoid is at most 2",
		allows_own_code},
	{"tracefs", CAP_DAC_READ_SEARCH, "formats of tracepoints",
		"tracefs is readable (mount option gid=)", allows_formats},
	{"kernel names", CAP_SYSLOG, "names of kernel functions",
		"kernel.kptr_restrict is 0 and kernel.perf_event_paranoid is at most 1",
		allows_kernel_names},
	{"process names", CAP_SYS_PTRACE, "mappings and files of other users' processes",
		"only own processes are observed", allows_nothing},
	{"uprobes", CAP_SYS_ADMIN, "uprobes, USDT", "the kernel allows uprobes with cap_perfmon",
		allows_uprobes},
};

struct right {
	struct finding finding;
	struct buf gives;
	const char *setting;
};

/* With "!" after its name in `needs`, nothing works without it. */
static void add_use(struct right *r, const struct use *use, const char *needed, bool has)
{
	buf_printf(&r->gives, "%s%s", r->gives.len ? ", " : "", use->gives);
	if (r->gives.len == strlen(use->gives))
		r->setting = use->setting;
	if (!has && !use->allows())
		r->finding.state = MAX(r->finding.state,
			needed[strlen(use->need)] == '!' || !strcmp(use->need, "perf events")
				? ATTAR_CHECK_BLOCKED
				: ATTAR_CHECK_DEGRADED);
}

static void describe(struct right *r, bool has)
{
	struct finding *f = &r->finding;
	bool ready = f->state == ATTAR_CHECK_READY;

	if (has)
		buf_str(&f->detail, "this process has it");
	else if (ready)
		buf_printf(&f->detail, "not needed: %s",
			r->setting ? r->setting : "the kernel allows it");
	else if (r->setting)
		buf_printf(&f->detail, "missing; not needed if %s", r->setting);
	else
		buf_str(&f->detail, "missing");
	if (!ready)
		capabilities_add_commands(&f->remedy);
}

static int report_right(
	const struct capability *c, const struct right *r, attar_check_fn *fn, void *ctx)
{
	const struct finding *f = &r->finding;

	if (buf_failed(&f->detail) || buf_failed(&f->remedy) || buf_failed(&r->gives))
		return base_oom();
	return fn(ctx, &(struct attar_check){.name = c->name,
			       .gives = buf_text(&r->gives),
			       .state = f->state,
			       .found = buf_text(&f->detail),
			       .remedy = buf_text(&f->remedy)});
}

static int check_right(const struct capability *c, const char *needs, attar_check_fn *fn, void *ctx)
{
	bool has = capabilities_has(c->number);
	struct right right = {0};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		const char *needed =
			uses[i].number == c->number ? strstr(needs, uses[i].need) : NULL;

		if (needed)
			add_use(&right, &uses[i], needed, has);
	}
	if (right.gives.len) {
		describe(&right, has);
		r = report_right(c, &right, fn, ctx);
	}
	buf_done(&right.finding.detail);
	buf_done(&right.finding.remedy);
	buf_done(&right.gives);
	return r;
}

int doctor_check_rights(const char *needs, attar_check_fn *fn, void *ctx)
{
	int r = 0;

	CHECK_ARG(needs, "needs");
	CHECK_ARG(fn, "fn");
	for (size_t i = 0; i < ARRAY_SIZE(capabilities) && r == 0; i++)
		r = check_right(&capabilities[i], needs, fn, ctx);
	return r;
}
