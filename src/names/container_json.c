/* SPDX-License-Identifier: MIT */
#include "names/container_json.h"

#include <stdio.h>

#include "base/json.h"

/* The value is a string, and is copied; or it is skipped. */
static void read_text(struct json_parser *p, char ret_text[CONTAINER_NAME_BYTES])
{
	struct buf text _cleanup_(buf_done) = {0};

	if (json_peek(p) != '"') {
		json_skip(p);
		return;
	}
	json_read_string(p, &text);
	if (!p->failed)
		snprintf(ret_text, CONTAINER_NAME_BYTES, "%s", buf_text(&text));
}

/* ---- annotations and labels ---- */

struct labels {
	char name[CONTAINER_NAME_BYTES], pod[CONTAINER_NAME_BYTES], space[CONTAINER_NAME_BYTES];
	char type[CONTAINER_NAME_BYTES];
};

static char *label_of(struct labels *labels, const char *key)
{
	const struct {
		const char *key;
		char *value;
	} known[] = {
		{"io.kubernetes.cri.container-name", labels->name},
		{"io.kubernetes.cri.sandbox-name", labels->pod},
		{"io.kubernetes.cri.sandbox-namespace", labels->space},
		{"io.kubernetes.cri.container-type", labels->type},
		{"io.kubernetes.container.name", labels->name},
		{"io.kubernetes.pod.name", labels->pod},
		{"io.kubernetes.pod.namespace", labels->space},
		{"io.kubernetes.cri-o.ContainerType", labels->type},
		{"nerdctl/name", labels->name},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].key, key))
			return known[i].value;
	return NULL;
}

static void read_labels(struct json_parser *p, struct labels *labels)
{
	struct buf key _cleanup_(buf_done) = {0};
	bool first = true;

	if (!json_enter(p))
		return;
	while (json_next_member(p, &first, &key)) {
		char *value = label_of(labels, buf_text(&key));

		if (value)
			read_text(p, value);
		else
			json_skip(p);
	}
}

static bool take_labels(const struct labels *labels, struct container_names *names)
{
	const char *name = *labels->name                      ? labels->name
			   : !strcmp(labels->type, "sandbox") ? "pause"
							      : "";

	if (*name)
		snprintf(names->name, sizeof(names->name), "%s", name);
	if (*labels->pod)
		snprintf(names->pod, sizeof(names->pod), "%s%s%.*s", labels->space,
			*labels->space ? "/" : "",
			(int)(sizeof(names->pod) - 2 - strlen(labels->space)), labels->pod);
	return *name;
}

/* ---- files ---- */

/* "Config": {"Labels": {...}} */
static void read_config(struct json_parser *p, struct labels *labels)
{
	struct buf key _cleanup_(buf_done) = {0};
	bool first = true;

	if (!json_enter(p))
		return;
	while (json_next_member(p, &first, &key)) {
		if (!strcmp(buf_text(&key), "Labels"))
			read_labels(p, labels);
		else
			json_skip(p);
	}
}

bool container_json_docker(const char *text, size_t n, struct container_names *names)
{
	struct json_parser p = {.at = text, .end = text + n};
	struct buf key _cleanup_(buf_done) = {0};
	char name[CONTAINER_NAME_BYTES] = "";
	struct labels labels = {0};
	bool first = true;

	json_expect(&p, '{');
	while (json_next_member(&p, &first, &key)) {
		if (!strcmp(buf_text(&key), "Name"))
			read_text(&p, name);
		else if (!strcmp(buf_text(&key), "Config"))
			read_config(&p, &labels);
		else
			json_skip(&p);
	}
	if (p.failed)
		return false;
	if (!*labels.name) /* docker's own begins with a slash */
		snprintf(labels.name, sizeof(labels.name), "%s", name + (*name == '/'));
	return take_labels(&labels, names);
}

bool container_json_bundle(const char *text, size_t n, struct container_names *names)
{
	struct json_parser p = {.at = text, .end = text + n};
	struct buf key _cleanup_(buf_done) = {0};
	struct labels labels = {0};
	bool first = true;

	json_expect(&p, '{');
	while (json_next_member(&p, &first, &key)) {
		if (!strcmp(buf_text(&key), "annotations"))
			read_labels(&p, &labels);
		else
			json_skip(&p);
	}
	return !p.failed && take_labels(&labels, names);
}

/* The first of an array of names. */
static void read_first(struct json_parser *p, char ret_name[CONTAINER_NAME_BYTES])
{
	bool first = true;

	if (json_peek(p) != '[') {
		json_skip(p);
		return;
	}
	json_expect(p, '[');
	for (size_t i = 0; json_next(p, ']', &first); i++) {
		if (i == 0)
			read_text(p, ret_name);
		else
			json_skip(p);
	}
}

static void read_container(struct json_parser *p, const char *wanted, char *ret_name)
{
	char id[CONTAINER_NAME_BYTES] = "", name[CONTAINER_NAME_BYTES] = "";
	struct buf key _cleanup_(buf_done) = {0};
	bool first = true;

	json_expect(p, '{');
	while (json_next_member(p, &first, &key)) {
		if (!strcmp(buf_text(&key), "id"))
			read_text(p, id);
		else if (!strcmp(buf_text(&key), "names"))
			read_first(p, name);
		else
			json_skip(p);
	}
	if (!p->failed && *name && !strcmp(id, wanted))
		snprintf(ret_name, CONTAINER_NAME_BYTES, "%s", name);
}

bool container_json_storage(
	const char *text, size_t n, const char *id, struct container_names *names)
{
	struct json_parser p = {.at = text, .end = text + n};
	char name[CONTAINER_NAME_BYTES] = "";
	bool first = true;

	json_expect(&p, '[');
	while (json_next(&p, ']', &first))
		read_container(&p, id, name);
	if (p.failed || !*name)
		return false;
	memcpy(names->name, name, sizeof(name));
	return true;
}

/* "cgroup_paths": {"memory": "PATH"} */
static void read_groups(struct json_parser *p, struct buf *paths)
{
	struct buf text _cleanup_(buf_done) = {0};
	bool first = true;

	if (!json_enter(p))
		return;
	while (json_next_member(p, &first, &text)) {
		if (json_peek(p) != '"') {
			json_skip(p);
			continue;
		}
		json_read_string(p, &text);
		buf_str(paths, buf_text(&text));
		buf_char(paths, '\0');
	}
}

bool container_json_groups(const char *text, size_t n, struct buf *ret_paths)
{
	struct json_parser p = {.at = text, .end = text + n};
	struct buf key _cleanup_(buf_done) = {0};
	bool first = true;

	json_expect(&p, '{');
	while (json_next_member(&p, &first, &key)) {
		if (!strcmp(buf_text(&key), "cgroup_paths"))
			read_groups(&p, ret_paths);
		else
			json_skip(&p);
	}
	return !p.failed && !buf_failed(ret_paths) && ret_paths->len;
}
