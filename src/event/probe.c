/* SPDX-License-Identifier: MIT */
#include "event/probe.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file_limit.h"
#include "base/parse.h"
#include "base/user_file.h"
#include "tracefs/format.h"
#include "elf/function.h"
#include "event/modifier.h"
#include "event/pmu.h"
#include "event/probe_args.h"
#include "event/probe_pattern.h"
#include "event/probe_search.h"

static const char *const words[] = {"kprobe", "kretprobe", "uprobe", "uretprobe"};

bool probe_word(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == n && !memcmp(word, words[i], n))
			return true;
	return false;
}

/* ---- the text ---- */

static size_t symbol_span(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || (p[n] && strchr("_.$", p[n])))
		n++;
	return n;
}

static int number(struct parser *parser, uint64_t *ret_value)
{
	char text[32];
	const char *at = parser->p;
	size_t n = symbol_span(at);

	if (n >= sizeof(text))
		return parser_fail(parser, at, -EINVAL, "'%s' is not a number", CLIP_N(at, n));
	memcpy(text, at, n);
	text[n] = '\0';
	parser->p += n;
	return parse_u64(text, ret_value) < 0 ? parser_context(parser, at, -EINVAL) : 0;
}

/*
 * Functions of programs may have a namespace: ns::f. A module's function is module:function, but
 * letters after a colon may also be modifiers.
 */
static size_t function_span(const char *p, bool user)
{
	size_t n = probe_pattern_span(p), letters;

	while (user && n && p[n] == ':' && p[n + 1] == ':')
		n += 2 + probe_pattern_span(p + n + 2);
	if (user || !n || p[n] != ':')
		return n;
	letters = probe_pattern_span(p + n + 1);
	return letters && modifier_unknown(p + n + 1, letters) ? n + 1 + letters : n;
}

/* "func": names of other languages have more characters, such as main.(*T).Get of Go. */
static int read_quoted(struct parser *parser, struct probe *probe)
{
	const char *open = parser->p, *close = quote_close(open, NULL);

	if (!close)
		return parser_fail(parser, open, -EINVAL, "missing closing %c", *open);
	probe->func = list_own(parser->list, quote_text(open, close));
	parser->p = close + 1;
	return probe->func ? 0 : base_oom();
}

static int read_name(struct parser *parser, struct probe *probe, size_t n)
{
	probe->func = list_text(parser->list, parser->p, n);
	probe->is_pattern = probe_pattern_is(probe->func);
	parser->p += n;
	return probe->func ? 0 : base_oom();
}

/* func, func+off, or a number. */
static int read_place(struct parser *parser, struct probe *probe)
{
	const char *at = parser->p;
	bool is_quoted = probe->user && (*at == '"' || *at == '\'');
	size_t n = function_span(at, probe->user);
	int r;

	if (!n && !is_quoted)
		return parser_fail(parser, at, -EINVAL, "the syntax of a probe is %s",
			probe->user ? "uprobe:function+offset@FILE" : "kprobe:function+offset");
	if (isdigit((unsigned char)at[0]))
		return number(parser, &probe->offset);
	r = is_quoted ? read_quoted(parser, probe) : read_name(parser, probe, n);
	if (r < 0)
		return r;
	if (*parser->p != '+')
		return 0;
	parser->p++;
	return number(parser, &probe->offset);
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * The end of an unquoted path: after the longest prefix that is a file, because a filter in slashes
 * may follow; if there is no such prefix, all of it.
 */
static const char *path_end(const char *at)
{
	size_t all = strcspn(at, ",:{}()@\"' \t\n");

	for (size_t n = all; n > 0; n--) {
		char *part;
		bool is_whole;

		if (n < all && at[n] != '/')
			continue;
		part = strndup(at, n);
		is_whole = part && part[n - 1] != '/' && is_file(part);
		free(part);
		if (is_whole)
			return at + n;
	}
	return at + (strchr("./", *at) ? all : strcspn(at, "/,:{}()@\"' \t\n"));
}

/* @"file" or @file, then (offset) of a semaphore; or nothing. */
static int read_file(struct parser *parser, struct probe *probe)
{
	const char *at = parser->p + 1, *end;
	char quote;

	if (*parser->p != '@' && probe->func)
		return 0; /* probe_search() finds it */
	if (*parser->p != '@')
		return parser_fail(parser, parser->p, -EINVAL,
			"missing file" ATTAR_FIX
			"the syntax is uprobe:function@FILE or uprobe:function@\"FILE\"");
	quote = *at == '"' || *at == '\'' ? *at : 0;
	end = quote ? quote_close(at, NULL) : path_end(at);
	if (!end)
		return parser_fail(parser, at, -EINVAL, "missing closing %c", quote);
	at += quote != 0;
	if (end == at)
		return parser_fail(parser, at, -EINVAL,
			"missing file" ATTAR_FIX
			"the syntax is uprobe:function@FILE or uprobe:function@\"FILE\"");
	probe->file = quote ? list_own(parser->list, quote_text(at - 1, end))
			    : list_text(parser->list, at, (size_t)(end - at));
	parser->p = end + (quote != 0);
	if (!probe->file)
		return base_oom();
	if (*parser->p != '(')
		return 0;
	at = parser->p++;
	if (number(parser, &probe->ref) < 0)
		return -EINVAL;
	if (*parser->p != ')')
		return parser_fail(parser, at, -EINVAL, "missing ')' for this '('");
	parser->p++;
	return probe->ref <= UINT32_MAX
		       ? 0
		       : parser_fail(parser, at, -EINVAL, "the semaphore's offset is too large");
}

/*
 * The colon of FILE:function, as scripts for perf-prof write function@FILE, or NULL. Slashes may
 * also follow a function without a file: function/a==1/, function//args=(text=+0($arg1):string)/.
 */
static const char *file_end(const char *at)
{
	const char *end = at + strcspn(at, ",:@\"' \t\n=<>&|()!$"), *slashes = strstr(at, "//");

	if (slashes && slashes < end && slashes > at)
		return NULL;
	return *end == ':' && memchr(at, '/', (size_t)(end - at)) ? end : NULL;
}

static int read_file_first(struct parser *parser, struct probe *probe)
{
	const char *at = parser->p, *end = file_end(at);

	probe->file = list_text(parser->list, at, (size_t)(end - at));
	parser->p = end + 1;
	return probe->file ? read_place(parser, probe) : base_oom();
}

static int read_user_place(struct parser *parser, struct probe *probe)
{
	int r;

	if (file_end(parser->p))
		return read_file_first(parser, probe);
	r = read_place(parser, probe);
	return r == 0 ? read_file(parser, probe) : r;
}

/* ---- the file ---- */

/* A name without slashes is a program in PATH, or a library in the standard directories. */
static bool search_in(const char *folders, const char *name, char path[4096])
{
	for (const char *p = folders; *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		if (n && (size_t)snprintf(path, 4096, "%.*s/%s", (int)n, p, name) < 4096 &&
			is_file(path))
			return true;
		p += n;
	}
	return false;
}

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "."
#endif

static int check_file(const char *path)
{
	int fd _cleanup_close_ = user_file_open_handle(path);

	if (fd < 0)
		return file_limit_fail(errno, "cannot probe %s", CLIP(path));
	return is_file(path) ? 0 : attar_fail(-EINVAL, "%s is not a regular file", CLIP(path));
}

int probe_find_file(const char *name, char **ret_path)
{
	static const char libraries[] = "/usr/lib/" MULTIARCH ":/lib/" MULTIARCH
					":/usr/local/lib:/usr/lib64:/lib64:/usr/lib:/lib";
	const char *programs = getenv("PATH");
	char path[4096], *full;
	int r;
	USER_RIGHTS;

	if (!strchr(name, '/') && !is_file(name)) {
		if (!search_in(libraries, name, path) &&
			!search_in(programs ? programs : "", name, path))
			return attar_fail(-ENOENT,
				"no program or library '%s'" ATTAR_FIX "specify its path",
				CLIP(name));
		name = path;
	}
	full = realpath(name, NULL); /* the kernel requires an absolute path */
	if (!full)
		return attar_fail(-errno, "cannot probe %s: %s", CLIP(name), strerror(errno));
	r = check_file(full);
	if (r < 0)
		free(full);
	else
		*ret_path = full;
	return r;
}

/* Once: another user may put another file at the path, where other code is at the offset. */
static int open_file(struct parser *parser, const char *at, struct probe *probe)
{
	int fd = user_file_open_handle(probe->file);
	struct stat st;

	if (fd < 0)
		return parser_context(
			parser, at, file_limit_fail(errno, "cannot probe %s", CLIP(probe->file)));
	probe->link = list_file(parser->list, fd);
	if (!probe->link)
		return -ENOMEM;
	if (stat(probe->link, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	return parser_fail(parser, at, -EINVAL, "%s is not a regular file", CLIP(probe->file));
}

static int find_file(struct parser *parser, const char *at, struct probe *probe)
{
	char *path;
	int r = probe_find_file(probe->file, &path);

	if (r < 0)
		return parser_context(parser, at, r);
	probe->file = list_own(parser->list, path);
	return probe->file ? open_file(parser, at, probe) : base_oom();
}

/* The kernel only says that it does not support the event. */
static int check_offset(struct parser *parser, const char *at, const struct probe *probe)
{
	struct stat st;

	if (stat(probe->link, &st) < 0 || probe->offset < (uint64_t)st.st_size)
		return 0;
	return parser_fail(parser, at, -EINVAL,
		"the offset 0x%llx is outside of %s, which has 0x%llx bytes",
		(unsigned long long)probe->offset, CLIP(probe->file),
		(unsigned long long)st.st_size);
}

static int find_user(struct parser *parser, const char *at, struct probe *probe)
{
	uint64_t offset = 0;
	int r;

	if (!probe->file) {
		r = probe_search(parser->catalog, parser->list, probe);
		return r < 0 ? parser_context(parser, at, r) : 0;
	}
	r = find_file(parser, at, probe);
	if (r == 0 && probe->func) {
		r = elf_function_offset(probe->link, probe->file, probe->func, &offset);
		if (r < 0)
			return parser_context(parser, at, r == -ENOEXEC ? -EINVAL : r);
	}
	if (r < 0)
		return r;
	probe->offset += offset;
	return check_offset(parser, at, probe);
}

static int find_kernel(struct parser *parser, const char *at, const struct probe *probe)
{
	const char *name = probe->func ? strchr(probe->func, ':') : NULL;
	char best[128];

	name = name ? name + 1 : probe->func;
	if (!name || kernel_has_function(parser->catalog, name, best))
		return 0;
	if (!best[0])
		return parser_fail(
			parser, at, -ENOENT, "the kernel has no function '%s'", CLIP(name));
	return parser_fail(parser, at, -ENOENT,
		"the kernel has no function '%s'" ATTAR_FIX "did you mean '%s'?", CLIP(name), best);
}

/* ---- the event ---- */

/*
 * The format of PERF_SAMPLE_RAW for probes of a PMU: struct kprobe_trace_entry_head etc. in
 * kernel/trace. tracefs has no format file for them, because they have no name there.
 */
static int made_up_format(
	struct list *list, const struct probe *probe, const struct attar_format **ret_format)
{
	static const char head[] =
		"ID: 0\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
	static const char at_entry[] =
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\nprint fmt: \"(%lx)\", REC->__probe_ip\n";
	static const char at_return[] =
		"\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\nprint fmt: \"(%lx <- %lx)\", REC->__probe_func, REC->__probe_ret_ip\n";
	struct buf b _cleanup_(buf_done) = {0};
	struct attar_format *format;
	int r;

	buf_printf(&b, "name: %s\n%s%s", probe->func ? probe->func : "address", head,
		probe->ret ? at_return : at_entry);
	if (buf_failed(&b) || vec_reserve(&list->formats, 1) < 0)
		return base_oom();
	r = attar_format_parse(words[probe->user * 2 + probe->ret], b.data, b.len, &format);
	if (r < 0)
		return r;
	list->formats.at[list->formats.n++] = format;
	*ret_format = format;
	return 0;
}

static int put_bit(
	struct parser *parser, struct pmu *pmu, const char *name, uint64_t value, uint64_t *config)
{
	const struct pmu_format *format = pmu_term(pmu, name);
	uint64_t all[PMU_WORDS] = {*config};

	if (!value)
		return 0;
	if (!format || format->word != 0 || pmu_format_put(format, value, all) < 0)
		return parser_fail(parser, parser->event, -ENOTSUP,
			"the %s PMU of this kernel does not support '%s'", pmu->name, CLIP(name));
	*config = all[0];
	return 0;
}

/* By PMU (since 4.17): the probe exists as long as the file descriptor. */
int probe_add_by_pmu(struct parser *parser, const struct probe *probe, struct pmu *pmu)
{
	struct attar_event_spec *spec;
	int r = parser_add(parser, ATTAR_EVENT_PROBE, &spec);

	if (r < 0)
		return r;
	spec->type = pmu->pub.type;
	r = put_bit(parser, pmu, "retprobe", probe->ret, &spec->config);
	if (r == 0)
		r = put_bit(parser, pmu, "ref_ctr_offset", probe->ref, &spec->config);
	if (r < 0)
		return r;
	/* uprobe_path, kprobe_func */
	spec->config1 = (uintptr_t)(probe->user ? probe->link : probe->func);
	spec->config2 = probe->offset; /* probe_offset, kprobe_addr */
	return made_up_format(parser->list, probe, &spec->format);
}

int probe_not_recorded(struct parser *parser)
{
	struct buf names _cleanup_(buf_done) = {0};

	vec_each (&parser->catalog->tracefs.formats, it) {
		buf_str(&names, names.len ? ", " : "");
		tracefs_put_name(&parser->catalog->tracefs, *it, &names);
	}
	return parser_fail(parser, parser->event, -ENOENT,
		"the recording has no such probe; it has %s",
		names.len ? buf_text(&names) : "none");
}

/* The recorded event for a probe of the function. */
static int by_recording(struct parser *parser, const struct probe *probe)
{
	struct buf name _cleanup_(buf_done) = {0};
	struct attar_event_spec *spec;
	const struct attar_format *format;
	size_t n = dynamic_event_find_recorded(&parser->catalog->tracefs, probe, &format);

	if (n == 1)
		return parser_add_format(parser, ATTAR_EVENT_PROBE, format, &spec);
	if (n == 0)
		return probe_not_recorded(parser);
	tracefs_put_name(&parser->catalog->tracefs, format, &name);
	return parser_fail(parser, parser->event, -EINVAL,
		"the recording has %zu probes of '%s'" ATTAR_FIX "name one, such as %s", n,
		CLIP(probe->func ? probe->func : "an address"), buf_text(&name));
}

static int by_tracefs(struct parser *parser, const struct probe *probe)
{
	const struct attar_format *format;
	struct attar_event_spec *spec;
	const char *system, *name;
	int r = dynamic_event_create(&parser->catalog->tracefs, probe, &system, &name);

	if (r == 0)
		r = attar_catalog_format(parser->catalog, system, name, &format);
	if (r < 0)
		return parser_context(parser, parser->event, r);
	return parser_add_format(parser, ATTAR_EVENT_PROBE, format, &spec);
}

/* Uprobes of the PMU count nothing in tasks that inherit them, see struct attar_catalog_opts. */
static int add_inherited(struct parser *parser, const struct probe *probe, struct pmu *pmu)
{
	int r = by_tracefs(parser, probe);

	if (r == 0 || r == -ENOMEM || !pmu)
		return r;
	log_note("uprobes on %s count only in the tasks given, not in those that they create: %s",
		CLIP(probe->file), attar_error());
	return probe_add_by_pmu(parser, probe, pmu);
}

/* ---- arguments ---- */

static const struct attar_event_option *args_of(const struct parts *parts)
{
	for (size_t i = 0; i < parts->n_options; i++)
		if (!strcmp(parts->options[i].name, "args"))
			return &parts->options[i];
	return NULL;
}

static int take_args(
	struct parser *parser, const struct attar_event_option *args, struct probe *probe)
{
	const struct fetch_names names = {.function = probe->func, .is_return = probe->ret};
	struct buf fetch _cleanup_(buf_done) = {0};
	int r = probe_args_read(parser, args, probe->user, &names, &fetch);

	if (r < 0)
		return r;
	probe->fetch = list_text(parser->list, buf_text(&fetch), fetch.len);
	return probe->fetch ? 0 : base_oom();
}

static bool is_recorded(const struct parser *parser, const struct probe *probe)
{
	const struct attar_format *format;

	return dynamic_event_find_recorded(&parser->catalog->tracefs, probe, &format) > 0;
}

int probe_add(struct parser *parser, const struct probe *probe, const char *name)
{
	struct pmu *pmu = pmu_match(parser->catalog, probe->user ? "uprobe" : "kprobe", 0);
	int r;

	if (is_recorded(parser, probe) ||
		(parser->catalog->tracefs.recorded && (probe->fetch || !pmu)))
		r = by_recording(parser, probe);
	/* The PMU fetches nothing; and a task cannot fork while it has a kprobe of the PMU. */
	else if (probe->fetch || (!probe->user && parser->catalog->inherited))
		r = by_tracefs(parser, probe);
	else if (parser->catalog->inherited)
		r = add_inherited(parser, probe, pmu);
	else
		r = pmu ? probe_add_by_pmu(parser, probe, pmu) : by_tracefs(parser, probe);
	if (r == 0)
		parser->list->specs.at[parser->list->specs.n - 1].name = name;
	return r;
}

/* The functions that match a pattern, of the events of a recording or of a file or the kernel. */
static int create_matching(struct parser *parser, const char *at, struct probe *probe,
	const struct attar_event_option *args, const char *name)
{
	int r = 0;

	if (parser->catalog->tracefs.recorded)
		return probe_pattern_add_recorded(parser, name);
	if (probe->user && probe->file)
		r = find_file(parser, at, probe);
	else if (probe->user && probe_search(parser->catalog, parser->list, probe) < 0)
		r = parser_context(parser, at, -ENOENT);
	return r == 0 ? probe_pattern_add(parser, at, probe, args, name) : r;
}

/* Finds what is probed, unless the event is of a recording. */
static int create(struct parser *parser, const char *at, struct probe *probe, const char *name)
{
	int r = 0;

	if (!parser->catalog->tracefs.recorded)
		r = probe->user ? find_user(parser, at, probe) : find_kernel(parser, at, probe);
	return r == 0 ? probe_add(parser, probe, name) : r;
}

/* As it is written; of FILE:function, the same as of function@"FILE". NULL: out of memory. */
static const char *name_of(struct parser *parser, const struct probe *probe, const char *at)
{
	struct buf name _cleanup_(buf_done) = {0};

	if (!probe->user || !file_end(at))
		return list_text(parser->list, parser->event, (size_t)(parser->p - parser->event));
	buf_printf(&name, "%s:%s", words[2 + probe->ret], probe->func ? probe->func : "");
	if (probe->offset)
		buf_printf(&name, "%s0x%llx", probe->func ? "+" : "",
			(unsigned long long)probe->offset);
	buf_printf(&name, "@\"%s\"", probe->file);
	return buf_failed(&name) ? NULL : list_text(parser->list, name.data, name.len);
}

/* Each function of the pattern has its own arguments. */
static bool is_family(const struct probe *probe, const struct attar_event_option *args)
{
	return probe->is_pattern && !probe->user && probe_args_are_c(args);
}

int probe_parse(struct parser *parser, const char *word, size_t n)
{
	struct probe probe = {.user = word[0] == 'u', .ret = word[1] == 'r'};
	const char *at = parser->p, *name;
	const struct attar_event_option *args;
	struct parts parts = {0};
	int r = probe.user ? read_user_place(parser, &probe) : read_place(parser, &probe);

	if (r == 0 && probe.ret && probe.func && probe.offset)
		r = parser_fail(parser, at, -EINVAL, "a return probe cannot have an offset");
	name = r == 0 ? name_of(parser, &probe, at) : NULL;
	if (r == 0 && !name)
		r = base_oom();
	if (r == 0) {
		modifier_take_early(parser);
		r = parts_parse(parser, true, &parts);
	}
	args = args_of(&parts);
	if (r == 0 && args && !is_family(&probe, args))
		r = take_args(parser, args, &probe);
	if (r < 0)
		return r;
	r = probe.is_pattern ? create_matching(parser, at, &probe, args, name)
			     : create(parser, at, &probe, name);
	if (r < 0 && r != -ENOMEM && parts_are_optional(&parts)) {
		attar_error_clear();
		return 0;
	}
	return r == 0 ? parts_apply(parser, &parts) : r;
}
