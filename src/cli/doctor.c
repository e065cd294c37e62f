/* SPDX-License-Identifier: MIT */
/* attar doctor: checks system support and suggests fixes. */
#include <sys/utsname.h>

#include "attar/doctor.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cli/cli.h"

static const char *const state_names[] = {"READY", "DEGRADED", "BLOCKED"};

/* A check that was run. */
struct finding {
	const char *name, *gives;
	enum attar_check_state state;
	char *remedy;
};

typedef VEC(struct finding) finding_list;

/* In text output the fix is on a separate line, so that a narrow terminal does not cut it off. */
static void add_row(struct attar_section *t, bool json, const struct attar_check *check)
{
	attar_section_row(t);
	attar_cell_text(t, state_names[check->state]);
	attar_cell_text(t, check->name);
	if (json)
		attar_cell_text(t, check->gives);
	attar_cell_text(t, *check->found || json ? check->found : check->gives);
	if (json) {
		attar_cell_text(t, check->remedy);
	} else if (*check->remedy) {
		struct buf line _cleanup_(buf_done) = {0};

		buf_printf(&line, "fix: %s", check->remedy);
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

/*
 * What the profiler cannot do because of the finding: nothing at all if the check has "!" after its
 * name.
 */
static enum attar_check_state weigh(const struct attar_profiler *p, const struct finding *f)
{
	const char *at = p->needs ? strstr(p->needs, f->name) : NULL;

	if (!at || f->state == ATTAR_CHECK_READY)
		return ATTAR_CHECK_READY;
	return at[strlen(f->name)] == '!' ? ATTAR_CHECK_BLOCKED : f->state;
}

/* The state of a profiler is the worst state of the checks that it depends on. */
static void add_profiler(struct attar_section *t, bool json, const struct attar_profiler *p,
	const finding_list *findings)
{
	struct buf found _cleanup_(buf_done) = {0}, remedy _cleanup_(buf_done) = {0};
	struct attar_check row = {.name = p->name, .gives = p->summary};

	vec_each (findings, f) {
		enum attar_check_state state = weigh(p, f);

		if (state == ATTAR_CHECK_READY)
			continue;
		row.state = MAX(row.state, state);
		buf_printf(&found, "%s%s (%s)", found.len ? "; " : "without ", f->gives, f->name);
		if (state == ATTAR_CHECK_BLOCKED && !strstr(buf_text(&remedy), f->remedy))
			buf_printf(&remedy, "%s%s", remedy.len ? "; " : "", f->remedy);
	}
	row.found = buf_text(&found);
	row.remedy = buf_text(&remedy);
	add_row(t, json, &row);
}

static void add_profilers(struct attar_report *report, bool json, const finding_list *findings)
{
	struct attar_section *t = add_table(report, json, "profilers");

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		add_profiler(t, json, *p, findings);
}

struct doctor {
	struct attar_section *table;
	bool json;
	finding_list findings;
	enum attar_check_state worst;
};

static int add_check(void *ctx, const struct attar_check *check)
{
	struct doctor *d = ctx;
	struct finding f = {check->name, check->gives, check->state, strdup(check->remedy)};

	if (!f.remedy || vec_push(&d->findings, f) < 0) {
		free(f.remedy);
		return base_oom();
	}
	add_row(d->table, d->json, check);
	d->worst = MAX(d->worst, check->state);
	return 0;
}

static int fill(struct attar_report *report, bool json, enum attar_check_state *ret_worst)
{
	struct doctor d = {.table = add_table(report, json, "system"), .json = json};
	struct utsname kernel;
	int r = attar_check_system(add_check, &d);

	if (r == 0) {
		add_profilers(report, json, &d.findings);
		uname(&kernel);
		attar_report_remark(report, "kernel %s, attar %s", kernel.release, attar_version());
	}
	vec_each (&d.findings, f)
		free(f->remedy);
	vec_done(&d.findings);
	*ret_worst = d.worst;
	return r;
}

int command_doctor(int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	struct attar_report *report;
	enum attar_check_state worst;
	int status;

	if (argc > 1 + json) {
		attar_fail(-EINVAL,
			"doctor: invalid argument '%s'" ATTAR_FIX "the only option is --json",
			CLIP(argv[1 + json]));
		return report_error(STATUS_USAGE);
	}
	report = attar_report_new("doctor");
	if (!report) {
		base_oom();
		return report_error(STATUS_FAILED);
	}
	status = fill(report, json, &worst) < 0 ? report_error(STATUS_FAILED)
						: print_report(report, json, false);
	attar_report_free(report);
	return status == STATUS_OK && worst == ATTAR_CHECK_BLOCKED ? STATUS_UNSUPPORTED : status;
}
