/* SPDX-License-Identifier: MIT */
/*
 * Probes through tracefs (Documentation/trace/kprobetrace.rst, uprobetracer.rst). They are
 * system-wide and outlive their creator, so their names identify it: attar_NS_PID_START/NAME, with
 * the PID namespace, the PID in it and the start time of the process. Probes left behind by a
 * killed process are removed by the next one.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/check_arg.h"
#include "base/file.h"
#include "tracefs/dynamic_event.h"

enum { EVENTS_MAX = 4 << 20, STEM_MAX = 40 };

static const char *file_of(bool user)
{
	return user ? "uprobe_events" : "kprobe_events";
}

/* Field 22 of /proc/PID/stat: start time of the process in ticks since boot. */
static int start_time(const char *proc, const char *pid, unsigned long long *ret_ticks)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096];
	const char *p;
	int r;

	snprintf(path, sizeof(path), "%s/%s/stat", proc, pid);
	r = file_read(path, 65536, &b);
	if (r < 0)
		return r;
	p = strrchr(buf_text(&b), ')'); /* comm may contain any characters */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, " %llu", ret_ticks) == 1 ? 0 : -EBADMSG;
}

static unsigned long pid_namespace(const char *proc)
{
	struct stat st;
	char path[4096];

	snprintf(path, sizeof(path), "%s/self/ns/pid", proc);
	return stat(path, &st) == 0 ? (unsigned long)st.st_ino : 0;
}

static void path_of(const struct tracefs *tracefs, bool user, char path[4096])
{
	snprintf(path, 4096, "%s/%s", tracefs->path, file_of(user));
}

static int append(struct tracefs *tracefs, bool user, const char *text)
{
	char path[4096];
	int fd _cleanup_close_ = -1;

	path_of(tracefs, user, path);
	/* Never opened with O_TRUNC: that would remove all probes of the system. */
	fd = TEMP_FAILURE_RETRY(open(path, O_WRONLY | O_APPEND | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	return file_write_all(fd, text, strlen(text));
}

/* ---- creation ---- */

static int own_system(struct tracefs *tracefs)
{
	unsigned long long ticks = 0;
	int r;

	if (tracefs->dynamic_event_system)
		return 0;
	tracefs->dynamic_event_time = base_now();
	r = start_time(tracefs->proc, "self", &ticks);
	if (r < 0)
		return attar_context(r, "cannot name a probe");
	if (asprintf(&tracefs->dynamic_event_system, "attar_%lx_%d_%llu",
		    pid_namespace(tracefs->proc), getpid(), ticks) < 0) {
		tracefs->dynamic_event_system = NULL;
		return base_oom();
	}
	return 0;
}

/* Derives a C identifier from the function's name. */
static void stem_of(const struct probe *probe, char stem[STEM_MAX])
{
	size_t n = 0;

	for (const char *p = probe->func ? probe->func : "at"; *p && n < STEM_MAX - 1; p++)
		stem[n++] = isalnum((unsigned char)*p) ? *p : '_';
	stem[n] = '\0';
}

/* The same, unique in this process: other objects have made their first event at another time. */
static char *own_name(const struct tracefs *tracefs, const struct probe *probe)
{
	char stem[STEM_MAX], *name;

	stem_of(probe, stem);
	return asprintf(&name, "%s_0x%llx_%zu", stem,
		       (unsigned long long)tracefs->dynamic_event_time,
		       tracefs->dynamic_events.n) < 0
		       ? NULL
		       : name;
}

static void place_text(struct buf *b, const struct probe *probe)
{
	if (probe->user)
		buf_printf(b, "%s:0x%llx", probe->link, (unsigned long long)probe->offset);
	else if (probe->func)
		buf_printf(b, "%s+%llu", probe->func, (unsigned long long)probe->offset);
	else
		buf_printf(b, "0x%llx", (unsigned long long)probe->offset);
	if (probe->ref)
		buf_printf(b, "(0x%llx)", (unsigned long long)probe->ref);
	buf_str(b, probe->fetch ? probe->fetch : "");
	buf_char(b, '\n');
}

/* The kernel's last error message: "[ 1.2] trace_kprobe: error: TEXT". */
static void last_error(const struct tracefs *tracefs, char text[200])
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *p, *found = NULL;
	char path[4096];

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/error_log", tracefs->path);
	if (file_read(path, 1 << 20, &b) < 0 || !b.len)
		return;
	for (p = b.data; (p = strstr(p, "error: ")); p += 7)
		found = p + 7;
	if (found)
		snprintf(text, 200, ": %.*s", (int)strcspn(found, "\n"), found);
}

static int explain(struct tracefs *tracefs, const struct probe *probe, int r)
{
	char text[200], place[64], path[4096];

	/* The kernel also returns -ENOENT for the file to be probed. */
	path_of(tracefs, probe->user, path);
	if (r == -ENOENT && !file_exists(path) && file_is_listable(tracefs->path))
		return attar_fail(-EOPNOTSUPP,
			"this kernel does not support %s (CONFIG_%s_EVENTS is not set)",
			probe->user ? "uprobes" : "kprobes", probe->user ? "UPROBE" : "KPROBE");
	if (r == -EACCES || r == -EPERM)
		return attar_fail(-EACCES,
			"cannot create probes: no permission to write %s" ATTAR_FIX "run as root",
			path);
	last_error(tracefs, text);
	snprintf(place, sizeof(place), "0x%llx", (unsigned long long)probe->offset);
	return attar_fail(r, "the kernel refuses to probe '%s' (%s)%s",
		CLIP(probe->func ? probe->func : place), strerror(-r), text);
}

int dynamic_event_append(struct tracefs *tracefs, const struct probe *probe, const char *name)
{
	struct buf b _cleanup_(buf_done) = {0};
	int r;

	buf_printf(&b, "%c:%s/%s ", probe->ret ? 'r' : 'p', tracefs->dynamic_event_system, name);
	place_text(&b, probe);
	r = buf_failed(&b) ? -ENOMEM : append(tracefs, probe->user, b.data);
	if (r == -ENOMEM)
		return base_oom();
	return r < 0 ? explain(tracefs, probe, r) : 0;
}

int dynamic_event_create(struct tracefs *tracefs, const struct probe *probe,
	const char **ret_system, const char **ret_name)
{
	struct dynamic_event made = {.user = probe->user};
	const char *path;
	int r = tracefs_path(tracefs, &path);

	if (r == 0)
		r = own_system(tracefs);
	if (r < 0)
		return r;
	made.name = own_name(tracefs, probe);
	if (!made.name || vec_reserve(&tracefs->dynamic_events, 1) < 0) {
		free(made.name);
		return base_oom();
	}
	r = dynamic_event_append(tracefs, probe, made.name);
	if (r < 0) {
		free(made.name);
		return r;
	}
	tracefs->dynamic_events.at[tracefs->dynamic_events.n++] = made;
	*ret_system = tracefs->dynamic_event_system;
	*ret_name = made.name;
	return 0;
}

/* ---- events of recordings ---- */

/* The length of the stem of a name that own_name() has made; 0: it has not. */
static size_t stem_length(const struct attar_format *format)
{
	const char *digits = format->name;
	unsigned long long at;
	unsigned number;

	if (strncmp(format->system, "attar_", strlen("attar_")) != 0)
		return 0;
	while ((digits = strstr(digits, "_0x"))) {
		int end = 0;

		if (sscanf(digits, "_%llx_%u%n", &at, &number, &end) == 2 && !digits[end])
			return (size_t)(digits - format->name);
		digits++;
	}
	return 0;
}

static bool is_return(const struct attar_format *format)
{
	return attar_format_field(format, "__probe_ret_ip") != NULL;
}

size_t dynamic_event_find_recorded(const struct tracefs *tracefs, const struct probe *probe,
	const struct attar_format **ret_format)
{
	char stem[STEM_MAX];
	size_t found = 0;

	stem_of(probe, stem);
	vec_each (&tracefs->formats, it) {
		size_t n = stem_length(*it);

		if (!tracefs->recorded || !n || n != strlen(stem) || memcmp((*it)->name, stem, n) ||
			is_return(*it) != probe->ret)
			continue;
		*ret_format = *it;
		found++;
	}
	return found;
}

/* ---- removal ---- */

static int remove_one(struct tracefs *tracefs, bool user, const char *full_name)
{
	char text[256];

	if ((size_t)snprintf(text, sizeof(text), "-:%s\n", full_name) >= sizeof(text))
		return -EINVAL;
	return append(tracefs, user, text);
}

void dynamic_event_remove_own(struct tracefs *tracefs)
{
	vec_each (&tracefs->dynamic_events, it) {
		char full[200];
		int r;

		snprintf(full, sizeof(full), "%s/%s", tracefs->dynamic_event_system, it->name);
		r = is_own_process(tracefs) ? remove_one(tracefs, it->user, full) : 0;
		if (r < 0 && r != -ENOENT)
			log_note("cannot remove the probe %s from tracefs (%s): one of its events "
				 "is still open",
				full, strerror(-r));
		free(it->name);
	}
	vec_done(&tracefs->dynamic_events);
	free(tracefs->dynamic_event_system);
	tracefs->dynamic_event_system = NULL;
}

/*
 * True for "attar_NS_PID_START/..." of our PID namespace if no process PID with this start time
 * exists.
 */
static bool is_stale(const struct tracefs *tracefs, const char *full_name)
{
	unsigned long ns;
	unsigned long long ticks, now = 0;
	char pid[16];

	if (sscanf(full_name, "attar_%lx_%15[0-9]_%llu/", &ns, pid, &ticks) != 3)
		return false;
	if (ns != pid_namespace(tracefs->proc))
		return false;
	return start_time(tracefs->proc, pid, &now) < 0 ? access(tracefs->proc, X_OK) == 0
							: now != ticks;
}

static void remove_stale_of(struct tracefs *tracefs, bool user)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096], *save = NULL;

	path_of(tracefs, user, path);
	if (file_read(path, EVENTS_MAX, &b) < 0 || !b.len)
		return;
	/* "p:system/name place arguments..." */
	for (char *line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ':');

		if (!name)
			continue;
		name[1 + strcspn(name + 1, " ")] = '\0';
		if (is_stale(tracefs, name + 1) && remove_one(tracefs, user, name + 1) == 0)
			log_note("removed the probe %s, left behind by a process that was killed",
				name + 1);
	}
}

void dynamic_event_remove_stale(struct tracefs *tracefs)
{
	remove_stale_of(tracefs, false);
	remove_stale_of(tracefs, true);
	attar_error_clear();
}
