/* SPDX-License-Identifier: MIT */
#include "lib/name_filter.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"

enum { COMM_MAX = 15, CONDITION_BYTES = 2048 };

static const char *const fields[] = {"comm", "prev_comm", "next_comm", "child_comm"};

/* A text under construction; `fits` is false once something did not fit. */
struct condition {
	char text[CONDITION_BYTES];
	size_t n;
	bool fits;
};

/* No thread has a longer name without wildcards, and the kernel refuses it. */
static bool is_possible(const char *name, size_t n)
{
	return n && (n <= COMM_MAX || strcspn(name, "*?[") < n);
}

static void add_name(struct condition *c, const char *field, const char *name, size_t n)
{
	bool has_wildcard = strcspn(name, "*?[") < n;
	size_t room = sizeof(c->text) - c->n;
	int length = snprintf(c->text + c->n, room, "%s%s %s \"%.*s\"", c->n ? " || " : "", field,
		has_wildcard ? "~" : "==", (int)n, name);

	c->fits &= (size_t)length < room && !memchr(name, '"', n) && !memchr(name, '\\', n);
	if (c->fits)
		c->n += (size_t)length;
}

static void add_field(struct condition *c, const char *field, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, ",");

		if (is_possible(names, n))
			add_name(c, field, names, n);
		names += n + (names[n] == ',');
	}
}

int name_filter_set(struct attar_run *run, uint32_t first, const char *names)
{
	int r = 0;

	for (uint32_t i = first; r >= 0 && i < attar_run_sources(run); i++) {
		const struct attar_event_spec *spec = attar_run_source_spec(run, i);
		struct condition c = {.fits = true};

		if (!spec || !spec->format || spec->untraced || strncmp(spec->name, "sched:", 6))
			continue;
		for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
			if (attar_format_field(spec->format, fields[f]))
				add_field(&c, fields[f], names);
		if (c.n && c.fits)
			r = run_source_filter(run, i, c.text);
	}
	return r < 0 ? r : 0;
}
