/* SPDX-License-Identifier: MIT */
#include "perf/attr_bisect.h"

#include "perf/kernel.h"
#include "perf/open.h"

int attr_bisect_try(const struct refusal *r, const union uapi_attr *attr)
{
	union uapi_attr scratch = *attr;
	int fd;

	scratch.attr.disabled = 1;
	fd = open_event(&scratch, r->instance.pid, r->instance.cpu, r->instance.group_fd,
		r->instance.flags);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* A branch stack without any kind of branches would be another error. */
static void leave_out(const struct feature *f, union uapi_attr *attr)
{
	feature_drop(f, attr);
	if (attr->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && !attr->attr.branch_sample_type)
		attr->attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
}

static bool is_newer(const struct feature *f, const struct refusal *r)
{
	return f->since > kernel_get()->version && feature_is_in(f, r->attr);
}

/*
 * Several may be newer than the kernel at once: without all of them it answers otherwise, with one
 * not.
 */
static const struct feature *find_newer(const struct refusal *r, const struct feature *f, size_t n)
{
	union uapi_attr without = *r->attr;

	for (size_t i = 0; i < n; i++)
		if (is_newer(&f[i], r))
			leave_out(&f[i], &without);
	if (attr_bisect_try(r, &without) == r->error)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		union uapi_attr with = without;

		if (!is_newer(&f[i], r))
			continue;
		feature_put(&f[i], r->attr, &with);
		if (attr_bisect_try(r, &with) == r->error)
			return &f[i];
	}
	return NULL;
}

static const struct feature *find_any(const struct refusal *r, const struct feature *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		union uapi_attr without = *r->attr;

		if (!feature_is_in(&f[i], &without))
			continue;
		leave_out(&f[i], &without);
		if (attr_bisect_try(r, &without) != r->error)
			return &f[i];
	}
	return NULL;
}

const struct feature *attr_bisect_find(const struct refusal *r)
{
	size_t n;
	const struct feature *f = features_all(&n), *found = find_newer(r, f, n);

	return found ? found : find_any(r, f, n);
}

/* With E2BIG, the kernel writes the size that it supports into the attributes. */
const struct feature *attr_bisect_too_new(const struct refusal *r, uint32_t *ret_known_bytes)
{
	union uapi_attr scratch = *r->attr;
	int fd = open_event(&scratch, r->instance.pid, r->instance.cpu, r->instance.group_fd,
		r->instance.flags);
	const struct feature *f, *first = NULL;
	size_t n, best = SIZE_MAX;

	if (fd >= 0)
		close(fd);
	*ret_known_bytes = scratch.attr.size;
	f = features_all(&n);
	for (size_t i = 0; i < n; i++) {
		size_t at = feature_past(&f[i], r->attr, scratch.attr.size);

		if (at < best) {
			best = at;
			first = &f[i];
		}
	}
	return first;
}
