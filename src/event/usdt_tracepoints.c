/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints of tracefs for the USDT probes of any program. Unlike events of a list, they stay
 * until they are deleted, and other tools can use them.
 */
#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>

#include "attar/private/event.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "base/parse.h"
#include "elf/function.h"
#include "event/catalog.h"
#include "event/probe.h"
#include "event/usdt_event.h"
#include "event/usdt_operand.h"
#include "event/usdt_table.h"

enum { EVENTS_MAX = 4 << 20, NAME_MAX_BYTES = 64 };

/* "[PROVIDER:NAME@]FILE[@ADDRESS]", split into its parts. */
struct request {
	char *provider, *name; /* patterns */
	char *path;            /* real */
	const char *address;   /* NULL: the locations in the notes */
	struct buf fetch;      /* of ARGUMENTS; empty: arguments of the notes */
	attar_usdt_added_fn *fn;
	void *ctx;
};

static void request_done(struct request *q)
{
	free(q->provider);
	free(q->name);
	free(q->path);
	buf_done(&q->fetch);
}

/* ---- tracefs ---- */

static int events_path(char path[4096])
{
	struct attar_catalog *catalog;
	const char *tracefs;
	int r = attar_catalog_new(NULL, &catalog);

	if (r == 0) {
		r = attar_catalog_tracefs(catalog, &tracefs);
		if (r == 0)
			snprintf(path, 4096, "%s/uprobe_events", tracefs);
		attar_catalog_free(catalog);
	}
	return r;
}

static int write_line(const char *text)
{
	char path[4096];
	int fd _cleanup_close_ = -1, r = events_path(path);

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC); /* O_TRUNC would remove all probes */
	r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
	if (r == -ENOENT && fd < 0)
		return attar_fail(-EOPNOTSUPP, "this kernel does not support uprobes "
					       "(CONFIG_UPROBE_EVENTS is not set)");
	if (r == -EACCES || r == -EPERM)
		return attar_fail(
			-EACCES, "writing %s is not allowed" ATTAR_FIX "run as root", path);
	if (r == -EBUSY)
		return attar_fail(
			r, "the tracepoint is in use: %.*s", (int)strcspn(text, "\n"), text);
	return r < 0 ? attar_fail(r, "the kernel refuses '%.*s' (%s)", (int)strcspn(text, "\n"),
			       text, strerror(-r))
		     : 0;
}

/* Calls fn for each "GROUP/NAME ..." of uprobe_events that is not of a run of attar. */
static int each_event(int (*fn)(void *ctx, const char *name, const char *rest), void *ctx)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096], *save = NULL;
	int r = events_path(path);

	if (r == 0)
		r = file_read(path, EVENTS_MAX, &b);
	if (r < 0)
		return attar_error()[0] ? r
					: attar_fail(r, "cannot read %s: %s", path, strerror(-r));
	for (char *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; r == 0 && line;
		line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ':'), *rest = name ? strchr(name, ' ') : NULL;

		if (!rest || !strncmp(name, ":attar_", 7))
			continue;
		*rest++ = '\0';
		r = fn(ctx, name + 1, rest);
	}
	return r;
}

/* ---- the request ---- */

static char *identifier(const char *text)
{
	char *name = strndup(text, NAME_MAX_BYTES - 1);

	for (char *c = name; c && *c; c++)
		*c = isalnum((unsigned char)*c) || (c == name && *c == '_') ? *c : '_';
	return name;
}

static int take_names(struct request *q, const char *text, size_t n)
{
	const char *colon = memchr(text, ':', n);

	q->provider = colon ? strndup(text, (size_t)(colon - text)) : strdup("*");
	q->name = colon ? strndup(colon + 1, n - (size_t)(colon + 1 - text)) : strdup("*");
	if (!q->provider || !q->name)
		return base_oom();
	return *q->provider && *q->name ? 0
					: attar_fail(-EINVAL, "the syntax is PROVIDER:NAME@FILE");
}

/* "-4@%edi 8@16(%rsp)": operands of a note; anything else is the kernel's syntax. */
static bool is_operands(const char *text)
{
	text += *text == '-';
	text += strspn(text, "0123456789");
	text += *text == 'f';
	return *text == '@';
}

static int take_operands(struct request *q, const char *text)
{
	const struct usdt_site site = {.operands = text};
	char operand[USDT_OPERAND_MAX];
	struct usdt_type type;

	for (unsigned i = 1; *(text += strspn(text, " ")); i++) {
		const char *next = usdt_operand_next(text, operand, sizeof(operand), &type);
		int r;

		if (!next)
			return attar_fail(
				-EINVAL, "'%s' is not SIZE@OPERAND, such as -4@%%edi", CLIP(text));
		buf_printf(&q->fetch, " arg%u=", i);
		r = usdt_operand(&site, operand, &q->fetch);
		if (r < 0)
			return attar_fail(r, "uprobes cannot fetch '%s'", CLIP(operand));
		buf_printf(&q->fetch, ":%c%u",
			type.is_float    ? 'x'
			: type.is_signed ? 's'
					 : 'u',
			MIN(type.size, 8U) * 8);
		text = next;
	}
	return 0;
}

static int take_arguments(struct request *q, const char *text)
{
	text += strspn(text, " ");
	if (!*text)
		return 0;
	if (is_operands(text))
		return take_operands(q, text);
	buf_printf(&q->fetch, " %s", text);
	return 0;
}

/*
 * Entries of a directory with the sticky bit can only be exchanged by their owner and the owner of
 * the directory.
 */
static bool is_changed_by_others(const struct stat *st)
{
	bool is_owned = st->st_uid == 0 || st->st_uid == geteuid(),
	     is_sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	return !is_owned || (st->st_mode & (S_IWGRP | S_IWOTH) && !is_sticky);
}

static int check_part(const char *part, const char *path)
{
	struct stat st;

	if (lstat(part, &st) < 0)
		return attar_fail(-errno, "cannot probe %s: %s", CLIP(path), strerror(errno));
	if (!is_changed_by_others(&st))
		return 0;
	return attar_fail(-EPERM,
		"a permanent tracepoint in %s is refused: other users can change %s (owner %u, "
		"mode %04o), and put another file there" ATTAR_FIX
		"trace it with -e usdt:FILE:PROVIDER:NAME, or move it to a directory that only "
		"root can change",
		CLIP(path), CLIP(part), st.st_uid, st.st_mode & 07777);
}

/*
 * The kernel and other tools look up the path again, so nobody else may be able to change the file,
 * or a directory of its path. From the root on: what was checked cannot change any more.
 */
static int find_safe_file(const char *file, char **ret_path)
{
	int r = probe_find_file(file, ret_path);
	char *path = *ret_path;

	if (r == 0)
		r = check_part("/", path);
	for (size_t n = 1; r == 0 && path[n]; n += path[n] == '/') {
		char *part _cleanup_free_ = NULL;

		n += strcspn(path + n, "/");
		part = strndup(path, n);
		r = part ? check_part(part, path) : base_oom();
	}
	return r;
}

/* text: the whole argument, arguments after a blank included. */
static int read_request(struct request *q, char *text)
{
	char *at, *arguments = strchr(text, ' '), *file = text;
	int r;

	if (arguments)
		*arguments++ = '\0';
	at = strchr(text, '@');
	if (at && !memchr(text, '/', (size_t)(at - text)) && memchr(text, ':', (size_t)(at - text)))
		file = at + 1;
	r = take_names(q, text, file > text ? (size_t)(at - text) : 0);
	at = strchr(file, '@');
	if (at) {
		*at = '\0';
		q->address = at + 1;
	}
	if (r == 0)
		r = find_safe_file(file, &q->path);
	if (r == 0 && arguments)
		r = take_arguments(q, arguments);
	return r == 0 && buf_failed(&q->fetch) ? base_oom() : r;
}

/* ---- add ---- */

struct find {
	const char *name;
	bool found;
};

static int usdt_tracepoints_compare(void *ctx, const char *name, const char *rest)
{
	struct find *f = ctx;

	f->found |= !strcmp(f->name, name);
	return 0;
}

/* number: of the event among the events of its name with other arguments; 0: the first. */
static int add_location(const struct request *q, const char *provider, const char *name,
	unsigned number, const char *path, uint64_t offset, uint64_t ref, const char *fetch,
	bool is_first)
{
	char *group _cleanup_free_ = identifier(provider), *event _cleanup_free_ = identifier(name);
	struct buf line _cleanup_(buf_done) = {0}, full _cleanup_(buf_done) = {0};
	struct find f = {0};
	int r = 0;

	if (!group || !event)
		return base_oom();
	buf_printf(&full, "%s/%s", group, event);
	if (number)
		buf_printf(&full, "_%u", number + 1);
	f.name = buf_text(&full);
	if (is_first)
		r = each_event(usdt_tracepoints_compare, &f);
	if (r == 0 && f.found)
		r = attar_fail(-EEXIST,
			"%s:%s already exists" ATTAR_FIX "'attar usdt del %s:%s' deletes it", group,
			strchr(f.name, '/') + 1, group, strchr(f.name, '/') + 1);
	buf_printf(&line, "p:%s %s:0x%llx", f.name, path, (unsigned long long)offset);
	if (ref)
		buf_printf(&line, "(0x%llx)", (unsigned long long)ref);
	buf_printf(&line, "%s\n", fetch);
	if (buf_failed(&line) || buf_failed(&full))
		return base_oom();
	if (r == 0)
		r = write_line(line.data);
	if (r < 0 || !is_first || !q->fn)
		return r;
	buf_reset(&line);
	buf_printf(&line, "%s:%s", group, strchr(f.name, '/') + 1);
	return q->fn(q->ctx, buf_text(&line));
}

static int add_address(const struct request *q)
{
	char symbol[256];
	const char *plus = strchr(q->address, '+');
	uint64_t offset, behind = 0;
	int r;

	if (!strcmp(q->provider, "*"))
		return attar_fail(-EINVAL, "a name is required" ATTAR_FIX "PROVIDER:NAME@%s@%s",
			CLIP(q->path), CLIP(q->address));
	if (isdigit((unsigned char)*q->address)) {
		r = parse_u64(q->address, &offset);
	} else {
		snprintf(symbol, sizeof(symbol), "%.*s", (int)strcspn(q->address, "+"), q->address);
		r = plus ? parse_u64(plus + 1, &behind) : 0;
		if (r == 0)
			r = elf_function_offset(q->path, q->path, symbol, &offset);
	}
	return r < 0 ? r
		     : add_location(q, q->provider, q->name, 0, q->path, offset + behind, 0,
			       buf_text(&q->fetch), true);
}

/* Locations of a probe with equal arguments are one event. */
static int add_table(const struct request *q, const struct usdt_table *table)
{
	const struct usdt_location *l = table->locations.at;
	unsigned number = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->locations.n; i++) {
		bool same_name =
			i && l[i].provider == l[i - 1].provider && l[i].name == l[i - 1].name;
		bool same = same_name && (q->fetch.len || l[i].arguments == l[i - 1].arguments);

		number = !same_name ? 0 : same ? number : number + 1;
		if (*l[i].unfetched && !q->fetch.len)
			log_note("uprobes cannot fetch all arguments of '%s:%s':%s", l[i].provider,
				l[i].name, l[i].unfetched);
		r = add_location(q, l[i].provider, l[i].name, number, q->path, l[i].offset,
			l[i].ref, q->fetch.len ? q->fetch.data : l[i].fetch, !same);
	}
	return r;
}

int usdt_add(const char *text, attar_usdt_added_fn *fn, void *ctx)
{
	CHECK_ARG(text, "text");

	struct request q = {.fn = fn, .ctx = ctx};
	char *copy _cleanup_free_ = strdup(text);
	struct usdt_table table = {0};
	int r = copy ? read_request(&q, copy) : base_oom();

	if (r == 0 && q.address) {
		r = add_address(&q);
	} else if (r == 0) {
		r = usdt_table_add(&table, q.path, q.provider, q.name);
		if (r == 0 && !table.locations.n)
			r = usdt_none_found(q.path, q.provider, q.name);
		usdt_table_sort(&table);
		if (r == 0)
			r = add_table(&q, &table);
		usdt_table_done(&table);
	}
	request_done(&q);
	return r;
}

/* ---- deletion and listing ---- */

struct deletion {
	const char *pattern; /* "PROVIDER/NAME" */
	size_t n;
};

static int delete_one(void *ctx, const char *name, const char *rest)
{
	struct deletion *d = ctx;
	char line[256];
	int r;

	if (fnmatch(d->pattern, name, 0) != 0)
		return 0;
	d->n++;
	snprintf(line, sizeof(line), "-:%s\n", name);
	r = write_line(line);
	if (r != -ENOENT)
		return r;
	attar_error_clear(); /* it was deleted with another location of the same name */
	return 0;
}

int usdt_delete(const char *pattern)
{
	CHECK_ARG(pattern, "pattern");

	char *copy _cleanup_free_ = strdup(pattern), *colon = copy ? strchr(copy, ':') : NULL;
	struct deletion d = {.pattern = copy};
	int r;

	if (!copy)
		return base_oom();
	if (!colon)
		return attar_fail(-EINVAL, "'%s' is not PROVIDER:NAME", CLIP(pattern));
	*colon = '/';
	r = each_event(delete_one, &d);
	if (r == 0 && !d.n)
		r = attar_fail(-ENOENT, "no tracepoint '%s' was added", CLIP(pattern));
	return r;
}

struct listing {
	attar_usdt_fn *fn;
	void *ctx;
};

static int list_one(void *ctx, const char *name, const char *rest)
{
	struct buf text _cleanup_(buf_done) = {0}, location _cleanup_(buf_done) = {0};
	const char *slash = strchr(name, '/');
	const struct listing *l = ctx;
	size_t n = strcspn(rest, " ");

	buf_printf(
		&text, "%.*s:%s", (int)(slash ? slash - name : 0), name, slash ? slash + 1 : name);
	buf_printf(&location, "%.*s", (int)n, rest);
	if (buf_failed(&text) || buf_failed(&location))
		return base_oom();
	return l->fn(l->ctx, text.data, location.data, rest + n + (rest[n] == ' '));
}

int usdt_each_added(attar_usdt_fn *fn, void *ctx)
{
	CHECK_ARG(fn, "fn");

	struct listing l = {fn, ctx};

	return each_event(list_one, &l);
}
