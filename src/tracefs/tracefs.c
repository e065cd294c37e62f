/* SPDX-License-Identifier: MIT */
#include "tracefs/tracefs.h"

#include <stdio.h>
#include <sys/mount.h>

#include "base/file.h"
#include "base/file_limit.h"
#include "base/suggest.h"
#include "tracefs/dynamic_event.h"

enum { MOUNTINFO_MAX = 16 << 20 };

#define STANDARD "/sys/kernel/tracing"
#define MOUNT    "mount -t tracefs nodev " STANDARD

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : base_oom();
}

int tracefs_init(struct tracefs *tracefs, const char *sysfs, const char *proc, const char *path)
{
	int r = copy(sysfs, &tracefs->sysfs);

	if (r == 0)
		r = copy(proc, &tracefs->proc);
	return r == 0 && path ? copy(path, &tracefs->path) : r;
}

void tracefs_done(struct tracefs *tracefs)
{
	dynamic_event_remove_own(tracefs);
	map_done(&tracefs->constants);
	map_done(&tracefs->strings);
	free(tracefs->strings_text);
	vec_each (&tracefs->formats, format)
		attar_format_free(*format);
	vec_done(&tracefs->formats);
	vec_each (&tracefs->recorded_probes, it)
		free(it->name);
	vec_done(&tracefs->recorded_probes);
	map_done(&tracefs->formats_by_name);
	free(tracefs->path);
	free(tracefs->proc);
	free(tracefs->sysfs);
}

bool tracefs_name_ok(const char *name)
{
	return name[0] && name[0] != '.' && strlen(name) < 256 && !strchr(name, '/');
}

int tracefs_denied(int r, const char *path)
{
	if (r != -EACCES && r != -EPERM)
		return file_limit_fail(-r, "cannot open %s", path);
	return attar_fail(-EACCES,
		"no permission to read tracefs (%s: %s)" ATTAR_FIX
		"run as root, or let a group read it (as root): mount -o "
		"remount,mode=0750,gid=GROUP " STANDARD,
		path, strerror(-r));
}

/* mountinfo escapes spaces, tabs, newlines and backslashes as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (char *p = text; *p;) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
			p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
}

/*
 * "ID PARENT DEV ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE SUPER": gets POINT and TYPE if the
 * root of a file system is mounted, else NULL. Modifies the line.
 */
static char *mount_point(char *line, char **ret_type)
{
	char *word[5], *dash = strstr(line, " - "), *save = NULL;

	if (!dash)
		return NULL;
	*dash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(word); i++)
		if (!(word[i] = strtok_r(i ? NULL : line, " ", &save)))
			return NULL;
	*ret_type = strtok_r(dash + 3, " ", &save);
	if (!*ret_type || strcmp(word[3], "/"))
		return NULL;
	unescape(word[4]);
	return word[4];
}

/* Rates a candidate: 2 if it contains the events directory, 1 if access is denied, 0 otherwise. */
static int rate(const char *path)
{
	char events[4096 + 16];

	snprintf(events, sizeof(events), "%s/events", path);
	if (file_is_listable(events))
		return 2;
	return errno == EACCES || errno == EPERM ? 1 : 0;
}

static int best_mount(char *text, char **ret_path)
{
	char *save = NULL, path[4096], best_path[4096] = "";
	int best = 0;

	for (char *line = strtok_r(text, "\n", &save); line && best < 2;
		line = strtok_r(NULL, "\n", &save)) {
		char *type, *point = mount_point(line, &type);
		bool debugfs;
		int rating;

		if (!point || (strcmp(type, "tracefs") && strcmp(type, "debugfs")))
			continue;
		debugfs = !strcmp(type, "debugfs");
		if ((size_t)snprintf(path, sizeof(path), "%s%s", point,
			    debugfs ? "/tracing" : "") >= sizeof(path))
			continue;
		rating = rate(path);
		if (rating > best) {
			best = rating;
			memcpy(best_path, path, sizeof(path));
		}
	}
	if (best == 2)
		return (*ret_path = strdup(best_path)) ? 0 : base_oom();
	return best == 1 ? tracefs_denied(-EACCES, best_path) : -ENODEV;
}

static int no_tracefs(void)
{
	return attar_fail(-EOPNOTSUPP,
		"this kernel does not support tracefs and tracepoints (CONFIG_TRACING is not set)");
}

static bool kernel_has_tracefs(const char *proc)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/filesystems", proc);
	return file_read(path, MOUNTINFO_MAX, &b) < 0 || strstr(buf_text(&b), "\ttracefs\n");
}

int tracefs_find(const char *proc, char **ret_path)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
	r = file_read(path, MOUNTINFO_MAX, &b);
	if (r < 0)
		return attar_context(r, "cannot find the tracefs mount point");
	r = b.len ? best_mount(b.data, ret_path) : -ENODEV;
	if (r != -ENODEV)
		return r;
	if (!kernel_has_tracefs(proc))
		return no_tracefs();
	return attar_fail(-ENODEV,
		"tracefs is not mounted, so tracepoint names cannot be resolved" ATTAR_FIX MOUNT);
}

static int mount_standard(void)
{
	if (mount("nodev", STANDARD, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0) {
		log_note("tracefs was not mounted: mounted it at " STANDARD);
		return 0;
	}
	if (errno == EBUSY) /* another process mounted it concurrently */
		return 0;
	if (errno == ENODEV)
		return no_tracefs();
	return attar_fail(-errno,
		"tracefs is not mounted and cannot be mounted here (%s)" ATTAR_FIX
		"as root, " MOUNT,
		strerror(errno));
}

int tracefs_mount(void)
{
	char *path _cleanup_free_ = NULL;
	int r = tracefs_find("/proc", &path);

	return r == -ENODEV ? mount_standard() : r;
}

int tracefs_path(struct tracefs *tracefs, const char **ret_path)
{
	int r = 0;

	if (tracefs->recorded)
		return attar_fail(-ENODEV, "only events of the recording are available");
	if (!tracefs->path)
		r = tracefs_find(tracefs->proc, &tracefs->path);
	if (r == -ENODEV && tracefs->mount && (r = mount_standard()) == 0)
		r = tracefs_find(tracefs->proc, &tracefs->path);
	if (r < 0)
		return r;
	if (!tracefs->seen) {
		tracefs->seen = true;
		dynamic_event_remove_stale(tracefs);
	}
	*ret_path = tracefs->path;
	return 0;
}

static bool has_name(const dir_names *names, const char *name)
{
	vec_each (names, it)
		if (!strcmp(*it, name))
			return true;
	return false;
}

/* The systems of the recorded formats; with a system, its tracepoints. */
static int recorded_names(const struct tracefs *tracefs, const char *system, dir_names *ret_names)
{
	int r = 0;

	vec_each (&tracefs->formats, it) {
		const char *name = *system ? (*it)->name : (*it)->system;

		if (*system && strcmp((*it)->system, system) != 0)
			continue;
		if (r == 0 && !has_name(ret_names, name))
			r = dir_names_add(ret_names, name);
	}
	return r;
}

static int names_in(struct tracefs *tracefs, const char *below, dir_names *ret_names)
{
	char path[4096 + 512];
	const char *root;
	size_t kept = 0;
	int r;

	if (tracefs->recorded)
		return recorded_names(tracefs, below, ret_names);
	r = tracefs_path(tracefs, &root);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/events/%s", root, below);
	r = dir_read(path, ret_names);
	if (r < 0)
		return tracefs_denied(r, path);
	/* Skip the control files next to the directories of systems and tracepoints. */
	vec_each (ret_names, name) {
		if (!strcmp(*name, "enable") || !strcmp(*name, "filter") ||
			!strncmp(*name, "header_", 7))
			free(*name);
		else
			ret_names->at[kept++] = *name;
	}
	ret_names->n = kept;
	return 0;
}

int tracefs_systems(struct tracefs *tracefs, dir_names *ret_names)
{
	return names_in(tracefs, "", ret_names);
}

int tracefs_events(struct tracefs *tracefs, const char *system, dir_names *ret_names)
{
	return names_in(tracefs, system, ret_names);
}

/* Collects all "system:name" in one list, from which suggestions borrow. */
static int all_names(struct tracefs *tracefs, dir_names *ret_names)
{
	dir_names systems _cleanup_(dir_names_done) = {0};
	int r = tracefs_systems(tracefs, &systems);

	vec_each (&systems, system) {
		dir_names events _cleanup_(dir_names_done) = {0};

		if (r < 0 || tracefs_events(tracefs, *system, &events) < 0)
			continue;
		vec_each (&events, event) {
			char full[520];

			snprintf(full, sizeof(full), "%s:%s", *system, *event);
			if (r == 0)
				r = dir_names_add(ret_names, full);
		}
	}
	return r;
}

/* Groups in which tools create probes by default. */
static int no_probe(const char *full, const char *system, const char *name)
{
	bool is_user = *system == 'u';

	return attar_fail(-ENOENT,
		"no tracepoint '%s': no tool has created this probe" ATTAR_FIX
		"attar creates it for %s:%s%s",
		CLIP(full), is_user ? "uprobe" : "kprobe", CLIP(name), is_user ? "@FILE" : "");
}

int tracefs_unknown(struct tracefs *tracefs, const char *system, const char *name)
{
	dir_names known _cleanup_(dir_names_done) = {0};
	char full[520];
	struct suggest s = {.word = full};
	bool has_system = false;
	size_t n = strlen(system);

	snprintf(full, sizeof(full), "%s:%s", system, name);
	if (all_names(tracefs, &known) < 0)
		return attar_fail(-ENOENT, "no tracepoint '%s'", CLIP(full));
	if (!tracefs->recorded && (!strcmp(system, "uprobes") || !strcmp(system, "kprobes")))
		return no_probe(full, system, name);
	vec_each (&known, it) {
		has_system |= !strncmp(*it, system, n) && (*it)[n] == ':';
		suggest_offer(&s, *it);
	}
	vec_each (&known, it)
		if (!strcmp(strchr(*it, ':') + 1, name))
			s.best = *it; /* correct name, wrong system */
	if (s.best)
		return attar_fail(-ENOENT, "no tracepoint '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(full), s.best);
	if (has_system && !tracefs->recorded)
		return attar_fail(-ENOENT, "no tracepoint '%s'" ATTAR_FIX "see 'attar list %s:*'",
			CLIP(full), CLIP(system));
	return attar_fail(-ENOENT,
		tracefs->recorded
			? "the recording has no tracepoint '%s'" ATTAR_FIX
			  "see 'attar list --input FILE'"
			: "no tracepoint '%s': this kernel has no system '%s';" ATTAR_FIX
			  "a group of probes exists after a tool has created it, attar itself "
			  "creates uprobe:NAME@FILE and kprobe:NAME",
		CLIP(full), CLIP(system));
}
