/* SPDX-License-Identifier: MIT */
#include "peer/offset.h"

#include "base/base.h"

/* A change takes at least so long, less than the time between two measurements. */
enum { CHANGE_NS = 400000000 };
static const int64_t time_max = INT64_C(1) << 60;

static struct offset_point *point_at(const struct offset *o, size_t i)
{
	return (struct offset_point *)&o->points[i % OFFSET_POINTS];
}

static void add_point(struct offset *o, uint64_t time, int64_t ahead)
{
	*point_at(o, o->n++) = (struct offset_point){time, ahead};
}

void offset_start(struct offset *o, int64_t ahead, uint64_t error)
{
	*o = (struct offset){.first_error = error, .error = error};
	add_point(o, 0, ahead < -time_max ? -time_max : MIN(ahead, time_max));
}

int64_t offset_at(const struct offset *o, uint64_t time)
{
	size_t oldest = o->n > OFFSET_POINTS ? o->n - OFFSET_POINTS : 0, i = o->n;
	const struct offset_point *from, *to;

	while (i > oldest && point_at(o, i - 1)->time > time)
		i--;
	if (i == oldest)
		return o->n ? point_at(o, oldest)->ahead : 0;
	from = point_at(o, i - 1);
	if (i == o->n)
		return from->ahead;
	to = point_at(o, i);
	return from->ahead +
	       (int64_t)((__int128)(to->ahead - from->ahead) * (int64_t)(time - from->time) /
			 (int64_t)(to->time - from->time));
}

/* Times are converted at half of the usual rate at least. */
static uint64_t length_of(int64_t change)
{
	return change > CHANGE_NS / 2 ? 2 * (uint64_t)change : CHANGE_NS;
}

static void change_from(struct offset *o, uint64_t time, int64_t before, int64_t after)
{
	if (point_at(o, o->n - 1)->time >= time) /* the change before has not ended */
		o->n--;
	add_point(o, time, before);
	add_point(o, time + length_of(after - before), after);
}

/* A measurement that took long, because data waited on either side, shows a large drift only. */
void offset_follow(struct offset *o, uint64_t time, int64_t ahead, uint64_t error)
{
	int64_t before;
	uint64_t wrong;

	if (time <= o->measured || time >= (uint64_t)time_max)
		return;
	before = offset_at(o, time);
	wrong = (uint64_t)(ahead > before ? ahead - before : before - ahead);
	if (error / 2 > o->first_error && wrong <= error + o->first_error)
		return;
	o->measured = time;
	o->error = MAX(o->error, wrong + error);
	if (wrong > error) /* otherwise the offset is right, as far as is known */
		change_from(o, time, before, ahead);
}

uint64_t offset_here(const struct offset *o, uint64_t time)
{
	int64_t ahead = offset_at(o, time);

	if (ahead > 0)
		return time > (uint64_t)ahead ? time - (uint64_t)ahead : 1;
	return time + (0 - (uint64_t)ahead);
}
