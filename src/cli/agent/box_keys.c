/* SPDX-License-Identifier: MIT */
#include "cli/agent/box_keys.h"

#include "base/buf.h"
#include "base/escape.h"

/* The keys, and their options. */
static const struct box_key {
	const char *name, *option;
} keys[] = {
	{"file", "--output"},
	{"events", "--event"},
	{"keep", "--keep"},
	{"max-memory", "--max-memory"},
	{"when", "--dump-when"},
	{"before", "--before"},
	{"after", "--after"},
	{"at-most", "--at-most"},
	{"former-files", "--rotate"},
};

bool agent_box_is_section(const char *name)
{
	return !strcmp(name, "blackbox");
}

static const char *option_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, key))
			return keys[i].option;
	return NULL;
}

int agent_box_take(struct agent_section *s, const char *key, const char *value)
{
	const char *option = option_of(key);
	struct buf run _cleanup_(buf_done) = {0};
	char *text;

	if (!option)
		return attar_fail(-EINVAL,
			"no such key '%s' of [blackbox]" ATTAR_FIX
			"the keys are file, events, keep, max-memory, when, before, after, "
			"at-most and former-files",
			CLIP(key));
	buf_str(&run, s->run ?: "record --overwrite --all-cpus");
	buf_printf(&run, " %s ", option);
	escape_shell(&run, value);
	text = buf_failed(&run) ? NULL : buf_take(&run);
	if (!text)
		return base_oom();
	free(s->run);
	s->run = text;
	return 0;
}

bool agent_box_is(char *const *words)
{
	if (strcmp(words[0], "record") != 0)
		return false;
	for (; *words; words++)
		if (!strcmp(*words, "--overwrite"))
			return true;
	return false;
}
