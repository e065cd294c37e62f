/* SPDX-License-Identifier: MIT */
/* Creates a report of letter frequencies in an argument and draws it in several formats. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <attar/attar-run.h>

static void fill_table(struct attar_report *report, const char *text)
{
	struct attar_section *table = attar_report_table(report, "letters");

	attar_section_column(table, "letter", ATTAR_UNIT_TEXT);
	attar_section_column(table, "times", ATTAR_UNIT_COUNT);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	for (char c = 'a'; c <= 'z'; c++) {
		const char letter[] = {c, '\0'};
		uint64_t n = 0;

		for (const char *at = text; *at; at++)
			n += tolower(*at) == c;
		if (!n)
			continue;
		attar_section_row(table);
		attar_cell_text(table, letter);
		attar_cell_u64(table, n);
		attar_cell_double(table, 100.0 * (double)n / (double)strlen(text));
	}
}

static void fill_histogram(struct attar_report *report, const char *text)
{
	struct attar_section *histogram = attar_report_histogram(report, "words", ATTAR_UNIT_COUNT);
	uint64_t by_length[16] = {0};

	for (const char *at = text; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		by_length[length < 15 ? length : 15]++;
		at += length;
	}
	for (int i = 1; i < 16; i++)
		if (by_length[i])
			attar_histogram_bucket(histogram, i, i + 1, by_length[i]);
}

int main(int argc, char **argv)
{
	const char *text = argc > 1 ? argv[1] : "the quick brown fox jumps over the lazy dog";
	struct attar_notes notes = {.counting = true, .unresolved = -1};
	struct attar_render_opts opts = {.size = sizeof(opts)};
	struct attar_report *report = attar_report_new("letters");
	int r = 0;

	if (!report)
		return 1;
	fill_table(report, text);
	fill_histogram(report, text);
	attar_report_remark(report, "of %zu bytes", strlen(text));
	attar_report_notes(report, &notes);
	for (const struct attar_sink *const *sink = attar_sinks(); *sink && r == 0; sink++) {
		struct attar_renderer *renderer;

		if ((*sink)->is_binary || (!(*sink)->for_terminal && !(*sink)->is_complete))
			continue;
		r = attar_renderer_new((*sink)->name, stdout, &opts, &renderer);
		if (r == 0)
			r = attar_renderer_draw(renderer, report);
		if (r == 0)
			attar_renderer_free(renderer);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	attar_report_free(report);
	return r < 0;
}
