/* SPDX-License-Identifier: MIT */
#include "lib/task_keys.h"

#include <string.h>

static const struct {
	const char *event;
	struct task_key start, other;
} keys[] = {
	{"sched:sched_switch", {"prev_pid", "(prev_state&0xff)==0&&prev_pid"},
		{"next_pid", "next_pid?2:0"}},
	{"sched:sched_process_fork", {"child_pid", NULL}, {"child_pid", NULL}},
};

bool task_key_get(const struct attar_event_spec *spec, bool is_start, struct task_key *ret_key)
{
	struct task_key key = {.key = "pid"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(spec->name, keys[i].event))
			key = is_start ? keys[i].start : keys[i].other;
	if (strncmp(spec->name, "sched:", 6) != 0 || !spec->format ||
		!attar_format_field(spec->format, key.key))
		return false;
	*ret_key = key;
	return true;
}
