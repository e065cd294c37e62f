/* SPDX-License-Identifier: MIT */
/* The features that describe the machine and the run. */
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/file.h"
#include "perfdata/writer_internal.h"

enum {
	CPUINFO_MAX = 64 << 10,
	CMDLINE_MAX = 1 << 20,
	COMPRESSED_ZSTD = 1,
	TOPOLOGY_CPUS_MAX = 4096,
};

/* The first "model name" of /proc/cpuinfo. */
static void put_cpu_description(struct buf *b)
{
	struct buf text _cleanup_(buf_done) = {0};
	char *name, *end;

	/* A longer file is cut, which leaves the first processor. */
	(void)file_read("/proc/cpuinfo", CPUINFO_MAX, &text);
	name = text.data ? strstr(text.data, "model name") : NULL;
	name = name ? strchr(name, ':') : NULL;
	if (!name)
		return;
	name += strspn(name, ": \t");
	end = strchr(name, '\n');
	if (end)
		*end = '\0';
	writer_put_string(b, name);
}

static void put_cmdline(struct buf *b)
{
	struct buf text _cleanup_(buf_done) = {0};
	uint32_t n = 0;

	if (file_read("/proc/self/cmdline", CMDLINE_MAX, &text) < 0 || !text.len)
		return;
	for (const char *at = text.data; at < text.data + text.len; at += strlen(at) + 1)
		n++;
	writer_put_u32(b, n);
	for (const char *at = text.data; at < text.data + text.len; at += strlen(at) + 1)
		writer_put_string(b, at);
}

static void put_event_desc(const struct recording_writer *w, struct buf *b)
{
	writer_put_u32(b, (uint32_t)w->events.n);
	writer_put_u32(b, w->attr_size);
	vec_each (&w->events, event) {
		buf_add(b, &event->attr, w->attr_size);
		writer_put_u32(b, (uint32_t)event->n_ids);
		writer_put_string(b, event->name);
		buf_add(b, event->ids, event->n_ids * sizeof(*event->ids));
	}
}

/* A number of sysfs; 0 if it cannot be read. */
static uint32_t topology_number(long cpu, const char *name)
{
	char path[96];
	int64_t value = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/topology/%s", cpu, name);
	return file_read_i64(path, &value) < 0 || value < 0 ? 0 : (uint32_t)value;
}

/* The distinct lists of CPUs in a file of all CPUs. */
static void put_siblings(struct buf *b, long cpus, const char *name)
{
	struct buf lists _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};
	uint32_t n = 0;

	for (long cpu = 0; cpu < cpus; cpu++) {
		char path[96], line[256];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/topology/%s", cpu,
			name);
		buf_reset(&text);
		if (file_read(path, sizeof(line) - 3, &text) < 0 || !text.len)
			continue;
		snprintf(line, sizeof(line), "\n%s", text.data);
		if (lists.data && strstr(lists.data, line))
			continue;
		if (!lists.len)
			buf_char(&lists, '\n');
		buf_str(&lists, text.data);
	}
	for (const char *at = buf_text(&lists); (at = strchr(at, '\n')) && at[1]; at++)
		n++;
	writer_put_u32(b, n);
	for (char *at = lists.data ? lists.data + 1 : NULL; at && *at;) {
		char *end = strchr(at, '\n');

		*end = '\0';
		writer_put_string(b, at);
		at = end + 1;
	}
}

static void put_topology(struct buf *b)
{
	long cpus = MIN(sysconf(_SC_NPROCESSORS_CONF), (long)TOPOLOGY_CPUS_MAX);

	put_siblings(b, cpus, "core_siblings_list");
	put_siblings(b, cpus, "thread_siblings_list");
	for (long cpu = 0; cpu < cpus; cpu++) {
		writer_put_u32(b, topology_number(cpu, "core_id"));
		writer_put_u32(b, topology_number(cpu, "physical_package_id"));
	}
}

static void put_clock_resolution(const struct recording_writer *w, struct buf *b)
{
	struct timespec resolution = {0};

	if (clock_getres(w->opts.clockid, &resolution) < 0)
		return;
	writer_put_u64(b, (uint64_t)resolution.tv_sec * 1000000000 + (uint64_t)resolution.tv_nsec);
}

static void put_clock_data(const struct recording_writer *w, struct buf *b)
{
	writer_put_u32(b, 1); /* version */
	writer_put_u32(b, (uint32_t)w->opts.clockid);
	writer_put_u64(b, w->wall_ns);
	writer_put_u64(b, w->clock_ns);
}

/* perf prints the ratio. */
static void put_compression(const struct recording_writer *w, struct buf *b)
{
	if (!w->compressor.stream)
		return;
	writer_put_u32(b, 1); /* version */
	writer_put_u32(b, COMPRESSED_ZSTD);
	writer_put_u32(b, 1); /* level */
	writer_put_u32(
		b, w->stats.file_bytes ? (uint32_t)(w->stats.bytes / w->stats.file_bytes) : 0);
	writer_put_u32(b, COMPRESS_RECORD_BYTES);
}

static void put_name(enum data_feature feature, struct buf *b)
{
	struct utsname names;

	if (uname(&names) < 0)
		return;
	writer_put_string(b, feature == FEATURE_HOSTNAME    ? names.nodename
			     : feature == FEATURE_OSRELEASE ? names.release
							    : names.machine);
}

void writer_put_feature(const struct recording_writer *w, enum data_feature feature, struct buf *b)
{
	switch (feature) {
	case FEATURE_TRACING_DATA:
		writer_put_tracing_data(w, b);
		break;
	case FEATURE_BUILD_ID:
		writer_put_build_ids(w, b);
		break;
	case FEATURE_HOSTNAME:
	case FEATURE_OSRELEASE:
	case FEATURE_ARCH:
		put_name(feature, b);
		break;
	case FEATURE_VERSION:
		writer_put_string(b, "attar " ATTAR_VERSION);
		break;
	case FEATURE_NRCPUS:
		writer_put_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
		writer_put_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
		break;
	case FEATURE_CPUDESC:
		put_cpu_description(b);
		break;
	case FEATURE_TOTAL_MEM: /* KiB */
		writer_put_u64(b,
			(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024);
		break;
	case FEATURE_CMDLINE:
		put_cmdline(b);
		break;
	case FEATURE_EVENT_DESC:
		put_event_desc(w, b);
		break;
	case FEATURE_CPU_TOPOLOGY:
		put_topology(b);
		break;
	case FEATURE_SAMPLE_TIME:
		writer_put_u64(b, w->first_time);
		writer_put_u64(b, w->last_time);
		break;
	case FEATURE_CLOCKID:
		put_clock_resolution(w, b);
		break;
	case FEATURE_CLOCK_DATA:
		put_clock_data(w, b);
		break;
	case FEATURE_COMPRESSED:
		put_compression(w, b);
		break;
	case FEATURE_NAMES: /* replaced by names_put() */
		if (w->opts.portable)
			writer_put_u64(b, 0);
		break;
	default:
		break;
	}
}
