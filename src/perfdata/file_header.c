/* SPDX-License-Identifier: MIT */
/* The header of a perf.data file: attributes, ids, and the sections of features. */
#include "perfdata/internal.h"

static bool ends_inside(const struct recording *r, const struct data_section *section)
{
	return section->offset <= r->file_size && section->size <= r->file_size - section->offset;
}

static bool is_inside(struct recording *r, const struct data_section *section, const char *what)
{
	if (ends_inside(r, section))
		return true;
	recording_damage(r,
		"it is truncated: its %s would have %llu bytes at byte %llu, but it has only %llu "
		"bytes",
		what, (unsigned long long)section->size, (unsigned long long)section->offset,
		(unsigned long long)r->file_size);
	return false;
}

/*
 * Reads a section into memory owned by the caller. Returns NULL and sets r->damage, or
 * NULL with errno ENOMEM.
 */
static char *read_section(struct recording *r, const struct data_section *section, const char *what)
{
	size_t len = 0;
	char *bytes;

	errno = 0;
	if (!is_inside(r, section, what))
		return NULL;
	if (section->size > RECORDING_FEATURE_MAX) {
		recording_damage(r, "its %s would have %llu bytes, at most %d are supported", what,
			(unsigned long long)section->size, RECORDING_FEATURE_MAX);
		return NULL;
	}
	bytes = malloc(section->size + 1);
	if (!bytes) {
		base_oom();
		errno = ENOMEM;
		return NULL;
	}
	while (len < section->size) {
		ssize_t got = pread(
			r->fd, bytes + len, section->size - len, (off_t)(section->offset + len));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			recording_damage(r, "its %s cannot be read: %s", what,
				got ? strerror(errno) : "it was truncated meanwhile");
			free(bytes);
			errno = 0;
			return NULL;
		}
		len += (size_t)got;
	}
	return bytes;
}

static int read_event(struct recording *r, struct cursor *c, size_t attr_size)
{
	_cleanup_free_ char *bytes = NULL;
	struct data_section ids;
	const char *attr = cursor_bytes(c, attr_size);

	ids.offset = cursor_u64(c);
	ids.size = cursor_u64(c);
	if (ids.size) {
		bytes = read_section(r, &ids, "list of ids");
		if (!bytes && errno == ENOMEM)
			return -ENOMEM;
	}
	return recording_add_event(
		r, attr, attr_size, cursor_of(bytes, bytes ? ids.size : 0, r->facts.swapped));
}

static int read_attrs(struct recording *r, const struct data_header *header)
{
	size_t entry = header->attr_size, attr_size = entry - sizeof(struct data_section);
	_cleanup_free_ char *bytes = NULL;
	struct cursor c;

	if (entry < PERF_ATTR_SIZE_VER0 + sizeof(struct data_section) ||
		entry > RECORDING_ATTR_MAX || entry % 8)
		return attar_fail(-EBADMSG,
			"%s: the header of the recording is damaged: attributes of %llu bytes",
			CLIP(r->path), (unsigned long long)header->attr_size);
	bytes = read_section(r, &header->attrs, "list of events");
	if (!bytes)
		return errno == ENOMEM ? -ENOMEM
				       : attar_fail(-EBADMSG,
						 "%s: the header of the recording is damaged: %s",
						 CLIP(r->path), r->damage);
	c = cursor_of(bytes, header->attrs.size, r->facts.swapped);
	while (cursor_left(&c) >= entry) {
		int ret = read_event(r, &c, attr_size);

		if (ret < 0)
			return attar_context(ret, "%s", CLIP(r->path));
	}
	return 0;
}

static bool has_feature(const struct data_header *header, unsigned feature)
{
	return header->features[feature / 64] >> feature % 64 & 1;
}

static bool has_any_feature(const struct data_header *header)
{
	return header->features[0] || header->features[1] || header->features[2] ||
	       header->features[3];
}

/* Whether the section of this feature is read; others can be large. */
static bool is_known(unsigned feature)
{
	switch (feature) {
	case FEATURE_TRACING_DATA ... FEATURE_EVENT_DESC:
	case FEATURE_SAMPLE_TIME:
	case FEATURE_CLOCKID:
	case FEATURE_CLOCK_DATA:
	case FEATURE_NAMES:
		return true;
	}
	return false;
}

/* *ret_cut: some of them, or all, are beyond the end of the file. */
static int read_features(struct recording *r, const struct data_header *header, bool *ret_cut)
{
	struct data_section table = {.offset = header->data.offset + header->data.size};
	_cleanup_free_ char *bytes = NULL;
	struct cursor c;

	for (unsigned f = 0; f < FEATURES; f++)
		table.size += has_feature(header, f) * sizeof(struct data_section);
	if (!table.size)
		return 0;
	if (table.offset < header->data.offset)
		table.offset = UINT64_MAX;
	*ret_cut = !ends_inside(r, &table);
	bytes = read_section(r, &table, "list of features");
	if (!bytes)
		return errno == ENOMEM ? -ENOMEM : 0;
	c = cursor_of(bytes, table.size, r->facts.swapped);
	for (unsigned f = 0; f < FEATURES; f++) {
		struct data_section section;
		char *feature;
		int ret;

		if (!has_feature(header, f))
			continue;
		section.offset = cursor_u64(&c);
		section.size = cursor_u64(&c);
		if (!section.size)
			continue;
		*ret_cut |= !ends_inside(r, &section);
		if (!is_inside(r, &section, "feature") || !is_known(f))
			continue;
		feature = read_section(r, &section, "feature");
		if (!feature && errno == ENOMEM)
			return -ENOMEM;
		if (!feature)
			continue;
		ret = recording_feature(r, f, feature, section.size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * attar's writer puts features in front of the data, as records, for files that are not finished,
 * whose disk was full, or that are truncated later. The header of a finished file does not refer to
 * them: they are between the list of events and the data, where perf's files have nothing.
 */
static int read_early_features(struct recording *r, const struct data_header *header)
{
	struct data_section early = {.offset = header->attrs.offset + header->attrs.size};
	_cleanup_free_ char *bytes = NULL;
	size_t at = 0;
	int ret = 0;

	if (early.offset >= header->data.offset)
		return 0;
	early.size = header->data.offset - early.offset;
	bytes = read_section(r, &early, "header");
	if (!bytes)
		return errno == ENOMEM ? -ENOMEM : 0;
	while (ret == 0 && early.size - at >= sizeof(struct perf_event_header)) {
		size_t left = early.size - at;
		struct perf_event_header record;

		memcpy(&record, bytes + at, sizeof(record));
		if (r->facts.swapped) {
			record.type = __builtin_bswap32(record.type);
			record.size = __builtin_bswap16(record.size);
		}
		if (record.size < sizeof(record) || record.size > left)
			break;
		if (record.type == RECORD_FEATURE)
			ret = recording_user_record(r, &record, bytes + at);
		at += record.size;
		if (record.type == RECORD_TRACING_DATA)
			return recording_copy_tracing_data(r, bytes + at, left - record.size);
	}
	return ret;
}

static void note_truncated(struct recording *r, const struct data_header *header)
{
	if (r->data_end != UINT64_MAX && r->data_end > r->file_size)
		recording_damage(r,
			"it is truncated: it has %llu bytes, of which %llu are data; "
			"%llu bytes of data are missing",
			(unsigned long long)r->file_size,
			(unsigned long long)(r->file_size - header->data.offset),
			(unsigned long long)(r->data_end - r->file_size));
}

static int check_data(const struct recording *r, const struct data_header *header)
{
	uint64_t at = header->data.offset;

	if (at >= sizeof(*header) && at <= r->file_size)
		return 0;
	return attar_fail(-EBADMSG,
		"%s: the header of the recording is %s: its data would be at byte %llu of %llu",
		CLIP(r->path), at < sizeof(*header) ? "damaged" : "truncated",
		(unsigned long long)at, (unsigned long long)r->file_size);
}

int recording_read_header(struct recording *r, const struct data_header *header)
{
	bool is_cut = !has_any_feature(header);
	int ret = check_data(r, header);

	if (ret < 0)
		return ret;
	r->raw.offset = header->data.offset;
	r->data_end = header->data.offset + header->data.size;
	/* The size is written when the recording ends. */
	r->facts.unfinished = !header->data.size && r->file_size > header->data.offset;
	if (r->facts.unfinished || r->data_end < header->data.offset)
		r->data_end = UINT64_MAX;
	note_truncated(r, header);
	ret = read_attrs(r, header);
	if (ret < 0)
		return ret;
	memcpy(r->facts.features, header->features, sizeof(header->features));
	r->facts.compressed = has_feature(header, FEATURE_COMPRESSED);
	r->facts.has_aux = has_feature(header, FEATURE_AUXTRACE);
	if (r->facts.unfinished)
		recording_damage(
			r, "it was not finished: the tool that recorded it was killed or crashed");
	else
		ret = read_features(r, header, &is_cut);
	return ret == 0 && is_cut ? read_early_features(r, header) : ret;
}
