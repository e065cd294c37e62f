/* SPDX-License-Identifier: MIT */
/* attar doctor: checks system support and suggests fixes. */
#include "base/base.h"
#include "cli/doctor_checks.h"
#include "cli/cli.h"
#include "perf/kernel.h"

static const char *const state_names[] = {"READY", "DEGRADED", "BLOCKED"};

/* In text output the fix is a line of its own, so that a narrow terminal does not cut it off. */
static void add_row(struct attar_section *t, bool json, const char *name, const char *gives,
	const struct finding *f)
{
	attar_section_row(t);
	attar_cell_text(t, state_names[f->state]);
	attar_cell_text(t, name);
	if (json)
		attar_cell_text(t, gives);
	attar_cell_text(t, f->detail.len || json ? buf_text(&f->detail) : gives);
	if (json) {
		attar_cell_text(t, buf_text(&f->remedy));
	} else if (f->remedy.len) {
		struct buf line _cleanup_(buf_done) = {0};

		buf_printf(&line, "fix: %s", buf_text(&f->remedy));
		attar_row_detail(t, buf_text(&line));
	}
}

static struct attar_section *add_table(struct attar_report *report, bool json, const char *name)
{
	struct attar_section *t = attar_report_table(report, name);

	attar_section_column(t, "state", ATTAR_UNIT_TEXT);
	attar_section_column(t, "name", ATTAR_UNIT_TEXT);
	if (json)
		attar_section_column(t, "gives", ATTAR_UNIT_TEXT);
	attar_section_column(t, "found", ATTAR_UNIT_TEXT);
	if (json)
		attar_section_column(t, "remedy", ATTAR_UNIT_TEXT);
	return t;
}

static void finding_done(struct finding *f)
{
	buf_done(&f->detail);
	buf_done(&f->remedy);
}

/* What the profiler loses by the finding: of a check with "!" after its name everything. */
static enum check_state weigh(const struct attar_profiler *p, const struct check *check,
	const struct finding *finding)
{
	const char *at = p->needs ? strstr(p->needs, check->name) : NULL;

	if (!at || finding->state == CHECK_READY)
		return CHECK_READY;
	return at[strlen(check->name)] == '!' ? CHECK_BLOCKED : finding->state;
}

/* The state of a profiler is the worst state of the checks that it depends on. */
static void add_profiler(struct attar_section *t, bool json, const struct attar_profiler *p,
	const struct finding *findings)
{
	struct finding f = {0};

	for (size_t i = 0; checks[i].name; i++) {
		enum check_state state = weigh(p, &checks[i], &findings[i]);
		const char *remedy = buf_text(&findings[i].remedy);

		if (state == CHECK_READY)
			continue;
		f.state = MAX(f.state, state);
		buf_printf(&f.detail, "%s%s (%s)", f.detail.len ? "; " : "without ",
			checks[i].gives, checks[i].name);
		if (state == CHECK_BLOCKED && !strstr(buf_text(&f.remedy), remedy))
			buf_printf(&f.remedy, "%s%s", f.remedy.len ? "; " : "", remedy);
	}
	add_row(t, json, p->name, p->summary, &f);
	finding_done(&f);
}

static enum check_state fill(struct attar_report *report, bool json)
{
	struct attar_section *t = add_table(report, json, "system");
	struct finding findings[CHECKS_MAX] = {0};
	enum check_state worst = CHECK_READY;

	for (size_t i = 0; checks[i].name; i++) {
		checks[i].run(&findings[i]);
		attar_error_clear();
		add_row(t, json, checks[i].name, checks[i].gives, &findings[i]);
		worst = MAX(worst, findings[i].state);
	}
	t = add_table(report, json, "profilers");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		add_profiler(t, json, *p, findings);
	for (size_t i = 0; checks[i].name; i++)
		finding_done(&findings[i]);
	attar_report_remark(report, "kernel %s, attar %s", kernel_get()->release, attar_version());
	return worst;
}

int command_doctor(int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	struct attar_report *report;
	enum check_state worst;
	int status;

	if (argc > 1 + json) {
		attar_fail(-EINVAL, "doctor: invalid argument '%s': the only option is --json",
			CLIP(argv[1 + json]));
		return report_error(STATUS_USAGE);
	}
	report = attar_report_new("doctor");
	if (!report) {
		base_oom();
		return report_error(STATUS_FAILED);
	}
	worst = fill(report, json);
	status = print_report(report, json, false);
	attar_report_free(report);
	return status == STATUS_OK && worst == CHECK_BLOCKED ? STATUS_UNSUPPORTED : status;
}
