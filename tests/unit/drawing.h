/* SPDX-License-Identifier: MIT */
/* Render a report into memory, for tests of the renderers. */
#ifndef DRAWING_H
#define DRAWING_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/report.h"

/*
 * Renders `n` reports with one renderer, frees them, and returns the text, which the caller frees.
 */
static inline char *draw_all(
	const char *format, struct attar_render_opts opts, struct attar_report **reports, size_t n)
{
	struct attar_renderer *renderer = NULL;
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	opts.size = sizeof(opts);
	assert_int_equal(attar_renderer_new(format, f, &opts, &renderer), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(attar_renderer_draw(renderer, reports[i]), 0);
		attar_report_free(reports[i]);
	}
	attar_renderer_free(renderer);
	fclose(f);
	assert_int_equal(strlen(text), size);
	return text;
}

static inline char *draw_one(
	const char *format, struct attar_render_opts opts, struct attar_report *report)
{
	return draw_all(format, opts, &report, 1);
}

static inline void assert_drawn(const char *format, struct attar_render_opts opts,
	struct attar_report *report, const char *expected)
{
	char *text = draw_one(format, opts, report);

	assert_string_equal(text, expected);
	free(text);
}

#endif
