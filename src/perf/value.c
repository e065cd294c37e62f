/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of counts. A multiplexed event runs during part of its enabled time only; its count
 * for all of it is then estimated: raw * enabled / running.
 */
#include "perf/value.h"

#include "attar/private/perf.h"
#include "base/check_arg.h"

uint64_t value_scale(uint64_t raw, uint64_t enabled, uint64_t running)
{
	unsigned __int128 scaled = ((unsigned __int128)raw * enabled + running / 2) / running;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

void value_set_quality_partly_run(struct attar_value *v)
{
	if (v->elsewhere) {
		v->quality = ATTAR_QUALITY_PARTIAL;
	} else if (v->time_running) {
		v->quality = ATTAR_QUALITY_SCALED;
		v->value = value_scale(v->raw, v->time_enabled, v->time_running);
	} else {
		v->quality = ATTAR_QUALITY_NOT_COUNTED;
	}
}

void value_error(struct attar_value *v)
{
	v->quality = ATTAR_QUALITY_ERROR;
	v->value = v->raw = 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct attar_value attar_value_since(
	const struct attar_value *now, const struct attar_value *before)
{
	CHECK_ARG_OR(now, "now", (struct attar_value){0});
	CHECK_ARG_OR(before, "before", (struct attar_value){0});

	struct attar_value v = *now;

	v.time_enabled = less(now->time_enabled, before->time_enabled);
	v.time_running = less(now->time_running, before->time_running);
	v.lost = less(now->lost, before->lost);
	if (now->quality == ATTAR_QUALITY_ERROR)
		return v;
	v.raw = less(now->raw, before->raw);
	value_set_quality(&v);
	if (now->quality == ATTAR_QUALITY_PARTIAL && before->quality < ATTAR_QUALITY_PARTIAL &&
		v.quality < ATTAR_QUALITY_PARTIAL)
		v.quality = ATTAR_QUALITY_PARTIAL; /* its gap is in this interval */
	return v;
}

static bool is_unknown(enum attar_quality quality)
{
	return quality == ATTAR_QUALITY_NOT_COUNTED || quality == ATTAR_QUALITY_ERROR;
}

static enum attar_quality joined(enum attar_quality a, enum attar_quality b)
{
	if (a != ATTAR_QUALITY_IDLE && b != ATTAR_QUALITY_IDLE && is_unknown(a) != is_unknown(b))
		return ATTAR_QUALITY_PARTIAL;
	return MAX(a, b);
}

void attar_value_add(struct attar_value *sum, const struct attar_value *v)
{
	CHECK_ARG_OR(sum, "sum", );
	CHECK_ARG_OR(v, "value", );

	sum->quality = joined(sum->quality, v->quality);
	if (__builtin_add_overflow(sum->value, v->value, &sum->value))
		sum->value = UINT64_MAX;
	sum->raw += v->raw;
	sum->time_enabled += v->time_enabled;
	sum->time_running += v->time_running;
	sum->lost += v->lost;
	sum->id = 0;
	sum->elsewhere |= v->elsewhere;
	sum->by_self_read |= v->by_self_read;
}

void value_join(struct attar_value *whole, const struct attar_value *part)
{
	CHECK_ARG_OR(whole, "whole", );
	CHECK_ARG_OR(part, "part", );

	bool in_error =
		part->quality == ATTAR_QUALITY_ERROR || whole->quality == ATTAR_QUALITY_ERROR;

	whole->raw += part->raw;
	whole->time_enabled = MAX(whole->time_enabled, part->time_enabled);
	whole->time_running += part->time_running;
	whole->lost += part->lost;
	whole->elsewhere = false;
	whole->by_self_read |= part->by_self_read;
	if (in_error)
		value_error(whole);
	else
		value_set_quality(whole);
}

const char *attar_quality_name(enum attar_quality quality)
{
	static const char *const names[] = {
		[ATTAR_QUALITY_IDLE] = "idle",
		[ATTAR_QUALITY_EXACT] = "exact",
		[ATTAR_QUALITY_SCALED] = "scaled",
		[ATTAR_QUALITY_PARTIAL] = "partial",
		[ATTAR_QUALITY_NOT_COUNTED] = "not counted",
		[ATTAR_QUALITY_ERROR] = "error",
	};

	return quality < ARRAY_SIZE(names) ? names[quality] : "?";
}
