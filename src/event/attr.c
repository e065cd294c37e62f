/* SPDX-License-Identifier: MIT */
/* Converts a spec to a struct perf_event_attr of any version of the kernel headers. */
#include <stddef.h>

#include "attar/event.h"
#include "base/base.h"
#include "base/check_arg.h"

/* Offsets of members that older headers do not declare; they are kernel ABI. */
enum { CONFIG3_AT = 128 /* 6.3 */, CONFIG4_AT = 136 /* 6.19 */ };

static int put_past(void *attr, size_t size, size_t at, uint64_t value, const char *name)
{
	if (size >= at + sizeof(value))
		memcpy((char *)attr + at, &value, sizeof(value));
	else if (value)
		return attar_fail(-E2BIG,
			"the event needs %s: perf_event_attr must have at least %zu bytes, not %zu",
			name, at + sizeof(value), size);
	return 0;
}

static void put_flags(const struct attar_event_spec *spec, struct perf_event_attr *attr)
{
	attr->exclude_user = spec->exclude_user;
	attr->exclude_kernel = spec->exclude_kernel;
	attr->exclude_hv = spec->exclude_hv;
	attr->exclude_host = spec->exclude_host;
	attr->exclude_guest = spec->exclude_guest;
	attr->exclude_idle = spec->exclude_idle;
	attr->pinned = spec->pinned;
	attr->exclusive = spec->exclusive;
	attr->precise_ip = spec->precise_ip & 3;
}

int attar_event_spec_attr(const struct attar_event_spec *spec, void *bytes, size_t size)
{
	CHECK_ARG(spec, "spec");
	CHECK_ARG(bytes, "attr");

	struct perf_event_attr attr;
	int r;

	if (size < PERF_ATTR_SIZE_VER1)
		return attar_fail(-E2BIG, "a perf_event_attr of %zu bytes is too small", size);
	memset(&attr, 0, sizeof(attr));
	memcpy(&attr, bytes, MIN(size, sizeof(attr)));
	r = put_past(bytes, size, CONFIG3_AT, spec->config3, "config3 (kernel 6.3)");
	if (r == 0)
		r = put_past(bytes, size, CONFIG4_AT, spec->config4, "config4 (kernel 6.19)");
	if (r < 0)
		return r;
	attr.type = spec->type;
	attr.size = (uint32_t)size;
	attr.config = spec->config;
	attr.bp_type = spec->bp_type;
	attr.config1 = spec->config1;
	attr.config2 = spec->config2;
	put_flags(spec, &attr);
	memcpy(bytes, &attr, MIN(size, (size_t)CONFIG3_AT));
	return 0;
}
