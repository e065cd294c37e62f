/* SPDX-License-Identifier: MIT */
#include "perf/culprit.h"

#include "perf/open.h"

int culprit_try(const struct refusal *r, const union uapi_attr *attr)
{
	union uapi_attr scratch = *attr;
	int fd;

	scratch.attr.disabled = 1;
	fd = open_event(&scratch, r->place.pid, r->place.cpu, r->place.group_fd, r->place.flags);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

const struct feature *culprit_find(const struct refusal *r)
{
	size_t n;
	const struct feature *f = features_all(&n);

	for (size_t i = 0; i < n; i++) {
		union uapi_attr without = *r->attr;

		if (!feature_is_in(&f[i], &without))
			continue;
		feature_drop(&f[i], &without);
		if (culprit_try(r, &without) != r->error)
			return &f[i];
	}
	return NULL;
}

/* With E2BIG the kernel writes the size that it knows into the attributes. */
const struct feature *culprit_too_new(const struct refusal *r, uint32_t *ret_known_bytes)
{
	union uapi_attr scratch = *r->attr;
	int fd =
		open_event(&scratch, r->place.pid, r->place.cpu, r->place.group_fd, r->place.flags);
	const struct feature *f, *first = NULL;
	size_t n;

	if (fd >= 0)
		close(fd);
	*ret_known_bytes = scratch.attr.size;
	f = features_all(&n);
	for (size_t i = 0; i < n; i++)
		if (feature_is_in(&f[i], r->attr) && feature_offset(&f[i]) >= scratch.attr.size &&
			(!first || feature_offset(&f[i]) < feature_offset(first)))
			first = &f[i];
	return first;
}
