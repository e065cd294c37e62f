/* SPDX-License-Identifier: MIT */
#include "event/probe_pattern.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/demangle.h"
#include "elf/function_list.h"
#include "elf/kallsyms_text.h"
#include "event/pattern.h"
#include "event/probe.h"
#include "event/probe_args.h"

enum { PROBES_MAX = 200, KEPT_MAX = 1 << 16, NAMED_MAX = 5, NAME_SIZE = 512 };

/* A function that matches; its name is owned by the list. */
struct place {
	const char *name;
	uint64_t offset; /* in the file; of the kernel: 0 */
};

struct probe_family {
	struct parser *parser;
	const struct probe *probe;             /* func is the pattern */
	const char *written;                   /* the event, as it is written */
	const struct attar_event_option *args; /* that depend on the function; NULL: none */
	struct pattern pattern;
	const char *module;     /* of the kernel; NULL: any */
	struct buf text;        /* a name in the source */
	VEC(struct place) list; /* without aliases, once it is sorted */
	size_t more;            /* that were not kept */
	size_t skipped;
	struct buf why, names; /* for the first that was skipped; further names */
};

size_t probe_pattern_span(const char *text)
{
	unsigned braces = 0, brackets = 0;
	size_t n = 0;

	for (;; n++) {
		char c = text[n];

		if (c == '[')
			brackets++;
		else if (c == ']' && brackets)
			brackets--;
		else if (c == '{')
			braces++;
		else if (c == '}' && braces)
			braces--;
		else if (!c || !(isalnum((unsigned char)c) || strchr("_.$*?", c) ||
				       (c == ',' && braces) || (strchr("!^-", c) && brackets)))
			return n;
	}
}

bool probe_pattern_is(const char *func)
{
	return func && strpbrk(func, "*?[{");
}

/* ---- the functions ---- */

/* A name in the symbol table, or with "::" in the pattern one in the source. */
static const char *matching_name(struct probe_family *f, const char *name)
{
	if (pattern_matches(&f->pattern, name))
		return name;
	buf_reset(&f->text);
	if (!strstr(f->probe->func, "::") || !demangle(name, &f->text))
		return NULL;
	return pattern_matches(&f->pattern, buf_text(&f->text)) ? buf_text(&f->text) : NULL;
}

static int add_place(struct probe_family *f, const char *name, uint64_t offset)
{
	struct place place = {.offset = offset};

	if (f->list.n == KEPT_MAX) {
		f->more++;
		return 0;
	}
	place.name = list_text(f->parser->list, name, strlen(name));
	return place.name && vec_push(&f->list, place) == 0 ? 0 : base_oom();
}

static int add_function(void *ctx, const char *name, uint64_t offset)
{
	struct probe_family *f = ctx;

	name = matching_name(f, name);
	return name ? add_place(f, name, offset) : 0;
}

static int add_kernel_function(void *ctx, const struct kallsyms_line *line)
{
	struct probe_family *f = ctx;
	char name[NAME_SIZE];

	if (!kallsyms_is_code(line) || kallsyms_is_noise(line) ||
		line->name_len >= sizeof(name) - 1)
		return 0;
	if (f->module && (line->owner_len != strlen(f->module) ||
				 memcmp(line->owner, f->module, line->owner_len) != 0))
		return 0;
	memcpy(name, line->name, line->name_len);
	name[line->name_len] = '\0';
	if (!pattern_matches(&f->pattern, name) || strstr(name, ".cold"))
		return 0;
	return add_place(f, name, 0);
}

static int order_places(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;
	size_t na = strlen(a->name), nb = strlen(b->name);

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->offset && na != nb ? (na < nb ? -1 : 1) : strcmp(a->name, b->name);
}

/* Of the names of one function, the shortest is left. */
static void leave_out_aliases(struct probe_family *f)
{
	size_t n = 0;

	if (f->list.n)
		qsort(f->list.at, f->list.n, sizeof(*f->list.at), order_places);
	vec_each (&f->list, it) {
		const struct place *last = n ? &f->list.at[n - 1] : NULL;

		if (!last || last->offset != it->offset ||
			(!it->offset && strcmp(last->name, it->name) != 0))
			f->list.at[n++] = *it;
	}
	f->list.n = n;
}

static int find_in_kernel(struct probe_family *f)
{
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/kallsyms", f->parser->catalog->tracefs.proc);
	r = kallsyms_each(path, add_kernel_function, f);
	return r < 0 && r != -ENOMEM
		       ? attar_fail(r, "cannot read the kernel's functions from %s: %s", path,
				 strerror(-r))
		       : r;
}

/* The limit protects from a pattern that slows all functions of a program or of the kernel. */
static int check_number(const struct probe_family *f)
{
	const size_t set = f->parser->catalog->probes_max, max = set ? set : PROBES_MAX;
	const size_t n = f->list.n + f->more;

	if (!n)
		return attar_fail(-ENOENT, "no function matches '%s'", CLIP(f->written));
	if (n > max)
		return attar_fail(-E2BIG,
			"'%s' matches %zu functions, more than %zu" ATTAR_FIX
			"narrow the pattern, or allow them with --probes %zu",
			CLIP(f->written), n, max, n);
	return 0;
}

static int find_functions(struct probe_family *f)
{
	const char *colon = f->probe->user ? NULL : strchr(f->probe->func, ':');
	struct list *list = f->parser->list;
	int r;

	if (colon) {
		f->module = list_text(list, f->probe->func, (size_t)(colon - f->probe->func));
		if (!f->module)
			return base_oom();
	}
	r = pattern_init(&f->pattern, colon ? colon + 1 : f->probe->func);
	if (r == 0)
		r = f->probe->user
			    ? elf_functions_each(f->probe->link, f->probe->file, add_function, f)
			    : find_in_kernel(f);
	leave_out_aliases(f);
	return r == 0 ? check_number(f) : r;
}

static int has_function(void *ctx, const char *name, uint64_t offset)
{
	return matching_name(ctx, name) != NULL;
}

int probe_pattern_is_in(const char *path, const char *file_name, const char *pattern)
{
	struct probe probe = {.user = true, .func = pattern};
	struct probe_family f = {.probe = &probe};
	int r = pattern_init(&f.pattern, pattern);

	if (r == 0)
		r = elf_functions_each(path, file_name, has_function, &f);
	pattern_done(&f.pattern);
	buf_done(&f.text);
	return r;
}

/* ---- what cannot be probed ---- */

static int skip(struct probe_family *f, const struct place *place, const char *why)
{
	f->skipped++;
	if (f->skipped == 1)
		buf_add(&f->why, why, strcspn(why, "\n")); /* without an excerpt */
	else if (f->skipped <= NAMED_MAX)
		buf_printf(&f->names, "%s '%s'", f->names.len ? "," : "; also", place->name);
	else if (f->skipped == NAMED_MAX + 1)
		buf_str(&f->names, ", ...");
	return buf_failed(&f->why) || buf_failed(&f->names) ? base_oom() : 0;
}

#if defined(__x86_64__)
/*
 * The kernel refuses breakpoints on these first bytes (arch/x86/kernel/uprobes.c): prefixes of
 * segments and locks, breakpoints, instructions for ports and interrupts. If the code is running,
 * one such place makes it refuse all places of the event.
 */
static bool is_refused(const uint8_t *code)
{
	static const uint8_t refused[] = {0x26, 0x2e, 0x36, 0x3e, 0x6c, 0x6d, 0x6e, 0x6f, 0xcc,
		0xcd, 0xcf, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa,
		0xfb};

	return memchr(refused, *code, sizeof(refused));
}
#else
static bool is_refused(const uint8_t *code)
{
	return false;
}
#endif

static int skip_refused(struct probe_family *f)
{
	int fd _cleanup_close_ = f->probe->user ? open(f->probe->link, O_RDONLY | O_CLOEXEC) : -1;
	size_t n = 0;
	int r = 0;

	vec_each (&f->list, it) {
		uint8_t code = 0;
		char why[160];

		if (fd < 0 || f->probe->offset || pread(fd, &code, 1, (off_t)it->offset) != 1 ||
			!is_refused(&code)) {
			f->list.at[n++] = *it;
			continue;
		}
		snprintf(why, sizeof(why), "the kernel cannot probe the first instruction of '%s'",
			CLIP_N(it->name, 80));
		if (r == 0)
			r = skip(f, it, why);
	}
	f->list.n = n;
	return r;
}

static void say_skipped(const struct probe_family *f, size_t all)
{
	if (f->skipped)
		log_note("skipped %zu of the %zu functions that match '%s': %s%s", f->skipped, all,
			f->written, buf_text(&f->why), f->names.len ? buf_text(&f->names) : "");
}

/* ---- the events ---- */

/* "uprobe:f@FILE", of "uprobe:pattern@FILE". */
static const char *name_of(struct probe_family *f, const struct place *place)
{
	const char *colon = strchr(f->written, ':'), *rest = colon + 1 + strlen(f->probe->func);
	const char *quote = strpbrk(place->name, " ,(<'") ? "\"" : "";
	const char *owner = f->module ? f->module : "";
	char *name;

	if (asprintf(&name, "%.*s%s%s%s%s%s%s", (int)(colon + 1 - f->written), f->written, owner,
		    f->module ? ":" : "", quote, place->name, quote, rest) < 0)
		return NULL;
	return list_own(f->parser->list, name);
}

static int name_newest(struct probe_family *f, const struct place *place)
{
	struct attar_event_spec *spec = &f->parser->list->specs.at[f->parser->list->specs.n - 1];

	spec->name = name_of(f, place);
	spec->pattern = f->written;
	return spec->name ? 0 : base_oom();
}

/* The number of the place, if it is not 0, and the arguments. */
static int put_fetch(
	struct probe_family *f, const struct probe *probe, size_t number, struct buf *fetch)
{
	const struct fetch_names names = {.function = probe->func, .is_return = probe->ret};
	int r = 0;

	if (number)
		buf_printf(fetch, " " PROBE_PLACE "=\\%zu:u32", number);
	buf_str(fetch, probe->fetch ? probe->fetch : "");
	if (f->args)
		r = probe_args_read(f->parser, f->args, probe->user, &names, fetch);
	return r == 0 && buf_failed(fetch) ? base_oom() : r;
}

/* The probe of one function, whose number its records have, if it is not 0. */
static int probe_at(struct probe_family *f, const struct place *place, size_t number,
	struct buf *fetch, struct probe *ret_probe)
{
	struct probe probe = *f->probe;
	int r;

	probe.offset += place->offset;
	if (!probe.user) {
		buf_printf(&f->text, "%s%s%s", f->module ? f->module : "", f->module ? ":" : "",
			place->name);
		probe.func = list_text(f->parser->list, f->text.data, f->text.len);
		buf_reset(&f->text);
	} else if (!number) {
		probe.func = place->name;
	}
	r = probe.func ? put_fetch(f, &probe, number, fetch) : base_oom();
	if (r == 0 && fetch->len)
		probe.fetch = buf_text(fetch);
	*ret_probe = probe;
	return r;
}

static bool ends_family(int r)
{
	return r == -ENOMEM || r == -EACCES || r == -EPERM || r == -EOPNOTSUPP || r == -ENODEV;
}

static int check_stop(const struct probe_family *f)
{
	const int *stop = f->parser->catalog->stop;

	return stop && __atomic_load_n(stop, __ATOMIC_RELAXED)
		       ? attar_fail(-ECANCELED, "stopped while functions were being probed")
		       : 0;
}

/* Creates the event, or adds the place to it; *event is NULL before the first. */
static int create_place(struct probe_family *f, const struct place *place, size_t number,
	const char **system, const char **event)
{
	struct tracefs *tracefs = &f->parser->catalog->tracefs;
	struct buf fetch _cleanup_(buf_done) = {0};
	struct probe probe;
	int r = probe_at(f, place, number, &fetch, &probe);

	if (r < 0)
		return r;
	return *event ? dynamic_event_append(tracefs, &probe, *event)
		      : dynamic_event_create(tracefs, &probe, system, event);
}

/* All places as one event. The places that the kernel accepts are left in the list. */
static int create_event(struct probe_family *f, const struct attar_format **ret_format)
{
	const char *system = NULL, *event = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < f->list.n; i++) {
		struct place *place = &f->list.at[i];

		r = check_stop(f);
		if (r == 0)
			r = create_place(f, place, n + 1, &system, &event);
		if (r == 0)
			f->list.at[n++] = *place;
		else if (r == -ECANCELED || ends_family(r) || skip(f, place, attar_error()) < 0)
			return r;
	}
	f->list.n = n;
	if (!event)
		return r;
	attar_error_clear();
	return attar_catalog_format(f->parser->catalog, system, event, ret_format);
}

static int add_together(struct probe_family *f)
{
	const struct attar_format *format;
	int r = create_event(f, &format);

	for (size_t i = 0; r == 0 && i < f->list.n; i++) {
		struct attar_event_spec *spec;

		r = parser_add_format(f->parser, ATTAR_EVENT_PROBE, format, &spec);
		if (r == 0) {
			spec->place = (uint32_t)i + 1;
			r = name_newest(f, &f->list.at[i]);
		}
	}
	return r;
}

/* An event for each, for programs that open the events of a catalog themselves. */
static int add_each(struct probe_family *f)
{
	struct buf fetch _cleanup_(buf_done) = {0};
	struct probe probe;
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->list.n; i++) {
		buf_reset(&fetch);
		r = probe_at(f, &f->list.at[i], 0, &fetch, &probe);
		if (r == 0)
			r = probe_add(f->parser, &probe, f->written);
		if (r == 0)
			r = name_newest(f, &f->list.at[i]);
	}
	return r;
}

int probe_pattern_add(struct parser *parser, const char *at, const struct probe *probe,
	const struct attar_event_option *args, const char *name)
{
	struct probe_family f = {.parser = parser,
		.probe = probe,
		.args = probe->fetch ? NULL : args,
		.written = name};
	size_t all;
	int r = find_functions(&f);

	all = f.list.n;
	if (r == 0)
		r = skip_refused(&f);
	if (r == 0 && !f.list.n)
		r = attar_fail(-EINVAL, "%s", buf_text(&f.why));
	if (r == 0)
		r = parser->catalog->has_places ? add_together(&f) : add_each(&f);
	if (r == 0)
		say_skipped(&f, all);
	pattern_done(&f.pattern);
	vec_done(&f.list);
	buf_done(&f.text);
	buf_done(&f.why);
	buf_done(&f.names);
	return r < 0 && r != -ENOMEM && r != -ECANCELED ? parser_context(parser, at, r) : r;
}

/* ---- recordings ---- */

int probe_pattern_add_recorded(struct parser *parser, const char *name)
{
	struct attar_event_spec *spec;
	struct pattern pattern;
	int r = pattern_init(&pattern, name);

	vec_each (&parser->catalog->tracefs.recorded_probes, it) {
		if (r < 0 || !pattern_matches(&pattern, it->name))
			continue;
		r = parser_add_format(parser, ATTAR_EVENT_PROBE, it->format, &spec);
		if (r < 0)
			break;
		spec->pattern = name;
		spec->name = list_text(parser->list, it->name, strlen(it->name));
		r = spec->name ? 0 : base_oom();
	}
	pattern_done(&pattern);
	if (r == 0 && parser->list->specs.n == parser->first)
		return probe_not_recorded(parser);
	return r;
}
