/* SPDX-License-Identifier: MIT */
#include "event/skipped_events.h"

#include <stdio.h>

#include "base/base.h"

enum { NAMED_MAX = 5 };

bool skipped_events_allows(const struct attar_event_spec *spec, int error)
{
	return spec && spec->pattern && spec->group < 0 && !spec->user_event &&
	       (error == -EACCES || error == -EPERM || error == -EINVAL || error == -ENOENT ||
		       error == -ENODEV || error == -EOPNOTSUPP || error == -EBUSY);
}

static void forget(struct skipped_events *l)
{
	free(l->why);
	free(l->names);
	*l = (struct skipped_events){0};
}

static int add_name(struct skipped_events *l, const char *name)
{
	char *names;

	if (l->left > NAMED_MAX)
		return 0;
	if (l->left == NAMED_MAX) {
		if (asprintf(&names, "%s, ...", l->names) < 0)
			return base_oom();
	} else if (asprintf(&names, "%s '%s'", l->names ? l->names : "; also", name) < 0) {
		return base_oom();
	}
	free(l->names);
	l->names = names;
	return 0;
}

/* An event that is refused. */
static int leave(struct skipped_events *l, const struct attar_event_spec *spec, int error)
{
	int r = 0;

	log_debug("skipped: %s", attar_error());
	if (!l->left) {
		l->error = error;
		l->why = strdup(attar_error());
		r = l->why ? 0 : base_oom();
	} else {
		r = add_name(l, spec->name);
	}
	l->left++;
	return r;
}

int skipped_events_add(struct skipped_events *l, const struct attar_event_spec *spec, int r)
{
	int ended = 0;

	if (!spec || spec->pattern != l->pattern)
		ended = skipped_events_end(l);
	if (ended < 0)
		return ended;
	if (spec)
		l->pattern = spec->pattern;
	l->matched++;
	return r < 0 && skipped_events_allows(spec, r) ? leave(l, spec, r) : r;
}

int skipped_events_end(struct skipped_events *l)
{
	int r = 0;

	if (l->left && l->left == l->matched)
		r = attar_fail(l->error, "%s", l->why);
	else if (l->left)
		log_note("skipped %zu of the %zu events that match '%s': %s%s", l->left, l->matched,
			l->pattern, l->why, l->names ? l->names : "");
	forget(l);
	return r;
}
