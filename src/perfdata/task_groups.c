/* SPDX-License-Identifier: MIT */
#include "perfdata/task_groups.h"

#include "perfdata/internal.h"

enum { PID_LIMIT = 1 << 22, ALIGN = 8 };

/* With a NUL, padded with zeros. */
static void put_text(struct buf *b, const char *text)
{
	static const char zeros[ALIGN];
	const size_t len = strnlen(text, RECORDING_GROUP_TEXT_MAX - 1);

	buf_add(b, text, len);
	buf_add(b, zeros, ALIGN - len % ALIGN);
}

void recording_group_put(const struct recording_group *group, struct buf *b)
{
	const uint32_t ids[] = {group->pid, group->user};

	buf_add(b, ids, sizeof(ids));
	put_text(b, group->path);
	put_text(b, group->container);
	put_text(b, group->pod);
}

/* NULL: it is too long, or there is none. */
static const char *read_text(struct cursor *c)
{
	const char *text = cursor_text(c);
	const size_t len = text ? strlen(text) : 0;

	cursor_bytes(c, ALIGN - len % ALIGN - 1);
	return c->failed || len >= RECORDING_GROUP_TEXT_MAX ? NULL : text;
}

int recording_group_read(struct recording *r, struct cursor *c)
{
	struct recording_group group = {.pid = cursor_u32(c), .user = cursor_u32(c)};
	const char *path = read_text(c), *container = read_text(c), *pod = read_text(c);

	if (!path || !container || !pod || group.pid > PID_LIMIT ||
		r->groups.n == RECORDING_GROUPS_MAX)
		return 0;
	group.path = recording_keep(r, path);
	group.container = *container ? recording_keep(r, container) : "";
	group.pod = *pod ? recording_keep(r, pod) : "";
	if (!group.path || !group.container || !group.pod || vec_push(&r->groups, group) < 0)
		return base_oom();
	return 0;
}

const recording_groups *recording_get_groups(const struct recording *r)
{
	return &r->groups;
}
