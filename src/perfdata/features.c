/* SPDX-License-Identifier: MIT */
/* The features of a recording: machine, command line, names of events, build IDs, clocks. */
#include "perfdata/internal.h"

static int keep_string(struct recording *r, struct cursor *c, const char **ret_text)
{
	const char *text = cursor_string(c), *copy;

	if (!text)
		return 0;
	copy = recording_keep(r, text);
	if (!copy)
		return -ENOMEM;
	*ret_text = copy;
	return 0;
}

/* A list of strings: the arguments, joined with spaces. */
static int read_cmdline(struct recording *r, struct cursor *c)
{
	struct buf line _cleanup_(buf_done) = {0};
	uint32_t n = cursor_u32(c);
	const char *copy;

	for (uint32_t i = 0; i < n; i++) {
		const char *argument = cursor_string(c);

		if (!argument)
			return 0;
		if (i)
			buf_char(&line, ' ');
		buf_str(&line, argument);
	}
	if (buf_failed(&line))
		return base_oom();
	copy = recording_keep(r, buf_text(&line));
	r->facts.cmdline = copy;
	return copy ? 0 : -ENOMEM;
}

/* The event that a description belongs to: by id, or by position if there are no ids. */
static struct event_entry *described(
	struct recording *r, uint32_t i, uint32_t n_ids, struct cursor ids)
{
	int index = n_ids ? recording_find(r, cursor_u64(&ids)) : -1;

	if (index < 0 && i < r->events.n && !r->events.at[i]->event.n_ids)
		index = (int)i;
	return index < 0 ? NULL : r->events.at[index];
}

static int read_event_desc(struct recording *r, struct cursor *c)
{
	uint32_t n = cursor_u32(c), attr_size = cursor_u32(c);

	for (uint32_t i = 0; i < n && !c->failed; i++) {
		struct event_entry *entry;
		uint32_t n_ids;
		const char *name;
		int ret;

		cursor_bytes(c, attr_size);
		n_ids = cursor_u32(c);
		name = cursor_string(c);
		entry = described(r, i, n_ids, *c);
		cursor_bytes(c, 8ULL * n_ids);
		if (!name || c->failed || !entry || !*name)
			continue;
		ret = recording_name_event(r, entry, name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int recording_add_build_id(struct recording *r, const char *bytes, size_t len)
{
	struct recording_build_id id = {0};
	struct cursor c = cursor_of(bytes, len, r->facts.swapped);
	const char *hash, *name;

	cursor_u32(&c); /* type */
	id.misc = cursor_u16(&c);
	cursor_u16(&c); /* size */
	id.pid = (pid_t)cursor_u32(&c);
	hash = cursor_bytes(&c, 24);
	name = cursor_text(&c);
	if (c.failed) {
		r->stats.malformed++;
		return 0;
	}
	if (r->build_ids.n == RECORDING_BUILD_IDS_MAX) {
		recording_damage(r, "it has more than %d build IDs", RECORDING_BUILD_IDS_MAX);
		return 0;
	}
	id.size = id.misc & BUILD_ID_MISC_SIZE ? MIN((uint8_t)hash[20], sizeof(id.id))
					       : sizeof(id.id);
	id.misc &= PERF_RECORD_MISC_CPUMODE_MASK;
	memcpy(id.id, hash, id.size);
	id.filename = recording_keep(r, name);
	if (!id.filename)
		return -ENOMEM;
	return vec_push(&r->build_ids, id);
}

static int read_build_ids(struct recording *r, struct cursor *c)
{
	while (cursor_left(c) >= sizeof(struct data_build_id)) {
		struct cursor size_at = cursor_of(c->at + 6, 2, c->swap);
		uint16_t size = cursor_u16(&size_at);
		const char *at = c->at;
		int ret;

		if (size < sizeof(struct data_build_id) || !cursor_bytes(c, size)) {
			c->failed = true;
			return 0;
		}
		ret = recording_add_build_id(r, at, size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void read_clock_data(struct recording *r, struct cursor *c)
{
	uint32_t version = cursor_u32(c);
	uint32_t clockid = cursor_u32(c);
	uint64_t wall = cursor_u64(c), clock = cursor_u64(c);

	if (c->failed || version != 1)
		return;
	r->facts.has_clock_data = true;
	r->facts.clockid = (int)clockid;
	r->facts.wall_ns = wall;
	r->facts.clock_ns = clock;
}

static int read_feature(struct recording *r, unsigned feature, struct cursor *c)
{
	struct recording_facts *facts = &r->facts;

	switch (feature) {
	case FEATURE_BUILD_ID:
		return read_build_ids(r, c);
	case FEATURE_HOSTNAME:
		return keep_string(r, c, &facts->hostname);
	case FEATURE_OSRELEASE:
		return keep_string(r, c, &facts->release);
	case FEATURE_VERSION:
		return keep_string(r, c, &facts->version);
	case FEATURE_ARCH:
		return keep_string(r, c, &facts->arch);
	case FEATURE_NRCPUS:
		/* perf writes the available ones first. */
		facts->cpus_available = cursor_u32(c);
		facts->cpus_online = cursor_u32(c);
		return 0;
	case FEATURE_CPUDESC:
		return keep_string(r, c, &facts->cpu_desc);
	case FEATURE_CPUID:
		return keep_string(r, c, &facts->cpu_id);
	case FEATURE_TOTAL_MEM:
		facts->memory = cursor_u64(c) << 10;
		return 0;
	case FEATURE_CMDLINE:
		return read_cmdline(r, c);
	case FEATURE_EVENT_DESC:
		return read_event_desc(r, c);
	case FEATURE_SAMPLE_TIME:
		facts->first_time = cursor_u64(c);
		facts->last_time = cursor_u64(c);
		return 0;
	case FEATURE_CLOCKID:
		facts->clock_resolution = cursor_u64(c);
		return 0;
	case FEATURE_CLOCK_DATA:
		read_clock_data(r, c);
		return 0;
	case FEATURE_AUXTRACE:
		facts->has_aux = true;
		return 0;
	case FEATURE_COMPRESSED:
		facts->compressed = true;
		return 0;
	}
	return 0;
}

int recording_feature(struct recording *r, unsigned feature, char *bytes, size_t len)
{
	struct cursor c = cursor_of(bytes, len, r->facts.swapped);
	int ret;

	if (feature < FEATURES)
		r->facts.features[feature / 64] |= 1ULL << feature % 64;
	if (feature == FEATURE_TRACING_DATA)
		return recording_tracing_data(r, bytes, len);
	if (feature == FEATURE_NAMES) {
		free(r->names);
		r->names = bytes;
		r->names_len = len;
		return 0;
	}
	ret = read_feature(r, feature, &c);
	if (c.failed)
		recording_damage(r, "its header is damaged: feature %u is truncated", feature);
	free(bytes);
	return ret;
}
