/* SPDX-License-Identifier: MIT */
/*
 * Runs the profiler "stat" on a command (default: true) and reads its report: the sections with
 * their columns and cells, instead of text or JSON.
 */
#include <stdio.h>

#include <attar/attar-run.h>

static void print_cell(struct attar_cell cell)
{
	switch (cell.kind) {
	case ATTAR_CELL_U64:
		printf("%llu", (unsigned long long)cell.u64);
		break;
	case ATTAR_CELL_I64:
		printf("%lld", (long long)cell.i64);
		break;
	case ATTAR_CELL_DOUBLE:
		printf("%g", cell.real);
		break;
	case ATTAR_CELL_TEXT:
		printf("%s", cell.text);
		break;
	default:
		printf("none");
	}
}

static void print_rows(const struct attar_section *section)
{
	for (size_t row = 0; row < attar_section_get_rows(section); row++) {
		const char *name;

		for (size_t i = 0; (name = attar_section_get_column(section, i, NULL)); i++) {
			printf("  %s ", name);
			print_cell(attar_section_get_cell(section, row, i));
		}
		printf("\n");
	}
}

static int on_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	const struct attar_section *section;
	const char *remark;

	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++) {
		printf("%s:\n", attar_section_get_name(section));
		print_rows(section);
	}
	for (size_t i = 0; (remark = attar_report_get_remark(report, i)); i++)
		printf("%s\n", remark);
	return 0;
}

int main(int argc, char **argv)
{
	char name[] = "true", *fallback[] = {name, NULL};
	struct attar_run_hooks hooks = {.size = sizeof(hooks), .report = on_report};
	struct attar_run *run;
	int r = attar_run_new("stat", &run);

	if (r == 0) {
		r = attar_run_set(run, "event", "task-clock,page-faults");
		attar_run_command(run, argc > 1 ? argv + 1 : fallback);
		if (r == 0)
			r = attar_run_go(run, &hooks);
		attar_run_free(run);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	return r < 0;
}
