/* SPDX-License-Identifier: MIT */
/* attar doctor: checks system support and suggests fixes. */
#include <sys/utsname.h>

#include "attar/builtin.h"
#include "attar/private/doctor.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/commands.h"

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

static struct attar_section *add_table(
	struct attar_report *report, bool json, bool gives, const char *name)
{
	struct attar_section *t = attar_report_table(report, name);

	attar_section_column(t, "state", ATTAR_UNIT_TEXT);
	attar_section_column(t, "name", ATTAR_UNIT_TEXT);
	if (gives)
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

struct doctor {
	struct attar_report *report;
	bool json;
	const struct attar_profiler *profiler; /* NULL: all */
	char *needs;                           /* of this profiler */
	struct attar_section *table;           /* that is being filled */
	finding_list findings;
	struct buf rights; /* names of capabilities for setpriv(1): "+perfmon,+syslog" */
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
	if (d->profiler && !strstr(d->needs, check->name))
		return 0;
	add_row(d->table, d->json, check);
	d->worst = MAX(d->worst, check->state);
	return 0;
}

/* The fix of the checks is also the fix here: it gives all rights. */
static int add_right(void *ctx, const struct attar_check *check)
{
	struct doctor *d = ctx;

	attar_section_row(d->table);
	attar_cell_text(d->table, state_names[check->state]);
	attar_cell_text(d->table, check->name);
	attar_cell_text(d->table, check->gives);
	attar_cell_text(d->table, check->found);
	if (d->json)
		attar_cell_text(d->table, check->remedy);
	buf_printf(&d->rights, "%s+%s", d->rights.len ? "," : "", check->name + strlen("cap_"));
	d->worst = MAX(d->worst, check->state);
	return 0;
}

/* Profilers that show stacks name their functions. */
static int list_needs(struct doctor *d)
{
	const struct attar_profiler *p = d->profiler;
	const char *stacks = p->uses & ATTAR_USES_STACKS ? ", kernel names, process names" : "";

	if (asprintf(&d->needs, "%s%s", p->needs ? p->needs : "", stacks) < 0) {
		d->needs = NULL;
		return base_oom();
	}
	return 0;
}

static int fill_profiler(struct doctor *d)
{
	int r;

	d->table = add_table(d->report, d->json, true, "rights");
	r = doctor_check_rights(d->needs, add_right, d);
	if (r == 0 && d->rights.len)
		attar_report_remark(d->report,
			"with these rights only, as root: setpriv --reuid=USER --regid=GROUP "
			"--init-groups --inh-caps=%s --ambient-caps=%s attar %s",
			buf_text(&d->rights), buf_text(&d->rights), d->profiler->name);
	return r;
}

static int doctor_fill(struct doctor *d)
{
	struct utsname kernel;
	struct attar_section *t;
	int r = d->profiler ? list_needs(d) : 0;

	if (r == 0) {
		d->table = add_table(d->report, d->json, d->json, "system");
		r = doctor_check_system(add_check, d);
	}
	if (r == 0 && d->profiler)
		r = fill_profiler(d);
	if (r < 0)
		return r;
	t = add_table(d->report, d->json, d->json, "profilers");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!d->profiler || *p == d->profiler)
			add_profiler(t, d->json, *p, &d->findings);
	uname(&kernel);
	attar_report_remark(d->report, "kernel %s, attar %s", kernel.release, attar_version());
	return 0;
}

static int examine(struct doctor *d)
{
	int status;

	d->report = attar_report_new("doctor");
	if (!d->report) {
		base_oom();
		return report_error(STATUS_FAILED);
	}
	status = doctor_fill(d) < 0 ? report_error(STATUS_FAILED)
				    : print_report(d->report, d->json, false);
	vec_each (&d->findings, f)
		free(f->remedy);
	vec_done(&d->findings);
	buf_done(&d->rights);
	free(d->needs);
	attar_report_free(d->report);
	return status == STATUS_OK && d->worst == ATTAR_CHECK_BLOCKED ? STATUS_UNSUPPORTED : status;
}

static int refuse_name(const char *name)
{
	struct suggest near = {.word = name};

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		suggest_offer(&near, (*p)->name);
	if (near.best)
		attar_fail(-ENOENT, "doctor: no such profiler '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), near.best);
	else
		attar_fail(-ENOENT,
			"doctor: no such profiler '%s'" ATTAR_FIX
			"'attar list profilers' lists them",
			CLIP(name));
	return report_error(STATUS_USAGE);
}

static int doctor_run(void *state, const struct command_words *words)
{
	struct doctor *d = state;
	const char *name = words->operands[0];

	d->profiler = name ? profiler_find(name) : NULL;
	return name && !d->profiler ? refuse_name(name) : examine(d);
}

static const struct attar_option doctor_options[] = {
	ATTAR_FLAG(struct doctor, json, 0, "json", "print a report in JSON"), {0}};

static const struct attar_example doctor_examples[] = {
	{"doctor", "what the system supports"},
	{"doctor offcpu", "what a profiler needs"},
	{0},
};

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[PROFILER] [--json]",
	.summary = "check system support and suggest fixes",
	.operands = (const struct command_operand
			[]){{"(no PROFILER)",
				    "print each check and its fix, and change nothing; exit status "
				    "0: no check is BLOCKED, 4: at least one is"},
		{"PROFILER", "check only what this profiler needs, and list the capabilities that "
			     "it uses: what for, whether attar has them, and which setting makes "
			     "them unnecessary"},
		{0}},
	.options = doctor_options,
	.state_size = sizeof(struct doctor),
	.max_operands = 1,
	.complete = "name",
	.examples = doctor_examples,
	.run = doctor_run,
};
