/* SPDX-License-Identifier: MIT */
/*
 * The perf.data format: structures and constants on disk. Sources: the kernel's
 * tools/perf/Documentation/perf.data-file-format.txt and files written by perf.
 */
#ifndef PERFDATA_FORMAT_H
#define PERFDATA_FORMAT_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PERF_DATA_MAGIC    0x32454c4946524550ULL /* "PERFILE2" on a little-endian machine */
#define PERF_DATA_MAGIC_V1 0x454c494646524550ULL /* "PERFFILE": before Linux 2.6.37 or so */

struct data_section {
	uint64_t offset; /* from the start of the file */
	uint64_t size;   /* bytes */
};

struct data_header {
	uint64_t magic;
	uint64_t size;             /* of this struct; of the first two members in a pipe */
	uint64_t attr_size;        /* of one entry of attrs */
	struct data_section attrs; /* array of {attr, data_section of its ids} */
	struct data_section data;
	struct data_section event_types;
	uint64_t features[4]; /* bitmap of FEATURE_*; their sections follow the data */
};

enum { DATA_PIPE_HEADER = 16 };

/* Types of records that the tools write. */
enum data_record {
	RECORD_ATTR = 64, /* attr, ids */
	RECORD_EVENT_TYPE = 65,
	RECORD_TRACING_DATA = 66, /* u32 size; then that many bytes after the record */
	RECORD_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE_INFO = 70,
	RECORD_AUXTRACE = 71, /* u64 size; then that many bytes after the record */
	RECORD_EVENT_UPDATE = 78,
	RECORD_FEATURE = 80, /* u64 feature, its bytes */
	RECORD_COMPRESSED = 81,
	RECORD_FINISHED_INIT = 82,
	RECORD_COMPRESSED2 = 83, /* u64 size; bytes, padded. Linux 6.16 */
	RECORD_DAMAGED = 256,    /* from here on: far beyond what any version of perf writes */
};

enum data_feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_CPU_TOPOLOGY = 13,
	FEATURE_AUXTRACE = 18,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_DIR_FORMAT = 24,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_NAMES = 255, /* of attar record --portable, see perfdata/portable_names.h */
	FEATURES = 256,
};

/*
 * Of RECORD_EVENT_UPDATE. All but the first are attar's own: further ids of the event, u64 each, in
 * a pipe, whose events are described before its data; the pid of the process that records, u64; how
 * many events of all kinds the kernel counted on a CPU but did not deliver, at the end: the number
 * and the CPU, u64 each; what threads waited for, see perfdata/waits.c; and what the scheduler had
 * counted for them, see perfdata/scheds.c; control groups, see perfdata/task_groups.c; the CPUs
 * that were online at the start, as the kernel lists them. Other readers ignore unknown types.
 */
enum {
	EVENT_UPDATE_NAME = 2,
	EVENT_UPDATE_IDS = 0x61740001,
	EVENT_UPDATE_RECORDER = 0x61740002,
	EVENT_UPDATE_MISSING = 0x61740003,
	EVENT_UPDATE_WAITS = 0x61740004,
	EVENT_UPDATE_WAIT = 0x61740005,
	EVENT_UPDATE_SCHEDS = 0x61740006,
	EVENT_UPDATE_GROUP = 0x61740007,
	EVENT_UPDATE_ONLINE = 0x61740008,
};

/* The id has 20 bytes and a size; older tools write 20 bytes without a size. */
#define BUILD_ID_MISC_SIZE (1 << 15)

/* RECORD_BUILD_ID, and the entries of FEATURE_BUILD_ID. A file name follows. */
struct data_build_id {
	struct perf_event_header header;
	int32_t pid;
	uint8_t id[20];
	uint8_t size;
	uint8_t reserved[3];
};

#endif
