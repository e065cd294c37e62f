/* SPDX-License-Identifier: MIT */
/* Cache of this system's tracepoint formats: each is read from tracefs once. */
#include <stdio.h>

#include "base/file.h"
#include "tracefs/format.h"
#include "tracefs/tracefs.h"

/* Hash of "system:name". Collisions are resolved by comparing names. */
static uint64_t hash_name(const char *system, const char *name)
{
	uint64_t h = base_hash_bytes(BASE_HASH_START, system, strlen(system));

	h = base_hash_bytes(h, ":", 1);
	return base_hash_bytes(h, name, strlen(name));
}

static int read_format(struct tracefs *tracefs, const char *system, const char *name,
	struct attar_format **ret_format)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096 + 600];
	const char *root;
	int r;

	if (tracefs->recorded)
		return tracefs_unknown(tracefs, system, name);
	r = tracefs_path(tracefs, &root);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, system, name);
	r = file_read(path, FORMAT_TEXT_MAX, &b);
	if (r == -ENOENT || r == -ENOTDIR)
		return tracefs_unknown(tracefs, system, name);
	if (r == -EACCES || r == -EPERM)
		return tracefs_denied(r, path);
	if (r == 0)
		r = attar_format_parse(system, buf_text(&b), b.len, ret_format);
	return r < 0 ? attar_context(r, "tracepoint %s:%s", system, name) : 0;
}

static int remember(struct tracefs *tracefs, uint64_t key, struct attar_format *format)
{
	if (vec_reserve(&tracefs->formats, 1) < 0 ||
		map_put(&tracefs->formats_by_name, key, tracefs->formats.n) < 0) {
		attar_format_free(format);
		return base_oom();
	}
	format_of(format)->tracefs = tracefs;
	tracefs->formats.at[tracefs->formats.n++] = format;
	return 0;
}

int tracefs_format(struct tracefs *tracefs, const char *system, const char *name,
	const struct attar_format **ret_format)
{
	const struct tracefs_alias *alias = &tracefs->alias;
	struct attar_format *format;
	uint64_t key, *index;
	int r;

	if (alias->name && !strcmp(system, alias->system) && !strcmp(name, alias->name))
		name = alias->of;
	key = hash_name(system, name);
	index = map_get(&tracefs->formats_by_name, key);
	if (!tracefs_name_ok(system) || !tracefs_name_ok(name))
		return attar_fail(-EINVAL, "'%s:%s' is not a valid tracepoint name", CLIP(system),
			CLIP(name));
	if (index) {
		format = tracefs->formats.at[*index];
		if (!strcmp(format->system, system) && !strcmp(format->name, name)) {
			*ret_format = format;
			return 0;
		}
	}
	r = read_format(tracefs, system, name, &format);
	if (r == 0)
		r = remember(tracefs, key, format);
	if (r == 0)
		*ret_format = format;
	return r;
}

void tracefs_set_recorded(struct tracefs *tracefs)
{
	tracefs->recorded = true;
	tracefs->strings_read = true;
}

static bool is_named(const struct attar_format *format, const char *name)
{
	size_t n = strlen(format->system);

	return !strncmp(name, format->system, n) && name[n] == ':' &&
	       !strcmp(name + n + 1, format->name);
}

int tracefs_add_format(
	struct tracefs *tracefs, const char *system, const char *name, const char *text, size_t len)
{
	struct recorded_probe recorded = {0};
	struct attar_format *format;
	int r = attar_format_parse(system, text, len, &format);

	if (r == 0)
		r = remember(tracefs, hash_name(system, format->name), format);
	if (r < 0 || is_named(format, name))
		return r;
	recorded.format = format;
	recorded.name = strdup(name);
	if (!recorded.name || vec_push(&tracefs->recorded_probes, recorded) < 0) {
		free(recorded.name);
		return base_oom();
	}
	return 0;
}

const struct attar_format *tracefs_recorded_probe(
	const struct tracefs *tracefs, const char *text, size_t *ret_len)
{
	const struct attar_format *found = NULL;

	vec_each (&tracefs->recorded_probes, it) {
		size_t n = strlen(it->name);

		if (strncmp(text, it->name, n) != 0 || !strchr(",/{} \t\n", text[n]) ||
			(found && n <= *ret_len))
			continue;
		*ret_len = n;
		found = it->format;
	}
	return found;
}

void tracefs_put_name(
	const struct tracefs *tracefs, const struct attar_format *format, struct buf *b)
{
	vec_each (&tracefs->recorded_probes, it) {
		if (it->format == format) {
			buf_str(b, it->name);
			return;
		}
	}
	buf_printf(b, "%s:%s", format->system, format->name);
}

void tracefs_set_alias(
	struct tracefs *tracefs, const char *system, const char *name, const char *of)
{
	tracefs->alias = (struct tracefs_alias){system, name, of};
}
