/* SPDX-License-Identifier: MIT */
#include "recording_file.h"

#include <stdio.h>

#include "perfdata/format.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

void put_u16(struct file_builder *f, uint16_t value)
{
	value = f->swapped ? __builtin_bswap16(value) : value;
	buf_add(&f->bytes, &value, sizeof(value));
}

void put_u32(struct file_builder *f, uint32_t value)
{
	value = f->swapped ? __builtin_bswap32(value) : value;
	buf_add(&f->bytes, &value, sizeof(value));
}

void put_u64(struct file_builder *f, uint64_t value)
{
	value = f->swapped ? __builtin_bswap64(value) : value;
	buf_add(&f->bytes, &value, sizeof(value));
}

void put_zeros(struct file_builder *f, size_t n)
{
	while (n--)
		buf_add(&f->bytes, "", 1);
}

void put_string(struct file_builder *f, const char *text)
{
	size_t len = ROUND_UP(strlen(text) + 1, 64);

	put_u32(f, (uint32_t)len);
	buf_str(&f->bytes, text);
	put_zeros(f, len - strlen(text));
}

void put_header(struct file_builder *f, uint32_t type, uint16_t misc, size_t size)
{
	put_u32(f, type);
	put_u16(f, misc);
	put_u16(f, (uint16_t)size);
}

void put_sample(struct file_builder *f, uint64_t id, uint32_t tid, uint64_t time)
{
	put_header(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, SAMPLE_BYTES);
	put_u64(f, id);
	put_u32(f, tid);
	put_u32(f, tid);
	put_u64(f, time);
}

static uint32_t attr_bytes(const struct file_builder *f)
{
	return f->attr_bytes ? f->attr_bytes : ATTR_BYTES;
}

void put_attr(struct file_builder *f, uint64_t config)
{
	uint64_t flags = 1ULL << 18; /* sample_id_all */

	put_u32(f, PERF_TYPE_TRACEPOINT);
	put_u32(f, attr_bytes(f));
	put_u64(f, config);
	put_u64(f, 1); /* sample_period */
	put_u64(f, SAMPLE_TYPE);
	put_u64(f, 0); /* read_format */
	/* The first bit field is the highest bit of a big-endian word. */
	put_u64(f, f->swapped ? 1ULL << (63 - 18) : flags);
	put_zeros(f, attr_bytes(f) - 48);
}

static void put_format(struct file_builder *f, uint64_t config)
{
	char text[256];

	snprintf(text, sizeof(text),
		"name: event%llu\nID: %llu\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"print fmt: \"\"\n",
		(unsigned long long)config, (unsigned long long)config);
	put_u64(f, strlen(text));
	buf_str(&f->bytes, text);
}

void put_tracing_data(struct file_builder *f, uint64_t first_config, unsigned n)
{
	buf_add(&f->bytes, "\27\10\104tracing0.6", 14);
	buf_add(&f->bytes, f->swapped ? "\1\10" : "\0\10", 2);
	put_u32(f, 4096);
	buf_add(&f->bytes, "header_page", 12);
	put_u64(f, 0);
	buf_add(&f->bytes, "header_event", 13);
	put_u64(f, 0);
	put_u32(f, 0); /* formats of ftrace */
	put_u32(f, 1); /* systems */
	buf_add(&f->bytes, "test", 5);
	put_u32(f, n);
	for (unsigned i = 0; i < n; i++)
		put_format(f, first_config + i);
	put_u32(f, 0); /* kallsyms */
	put_u32(f, 4);
	buf_add(&f->bytes, "fmt\n", 4);
	put_u64(f, 7);
	buf_add(&f->bytes, "1 init\n", 7);
}

static void put_samples(struct file_builder *f, unsigned n)
{
	static const uint64_t ids[] = {1001, 2001, 1002};

	for (unsigned i = 1; i <= n; i++) {
		put_sample(f, ids[i % 3], i, i);
		if (i % 10 == 0)
			put_header(f, RECORD_FINISHED_ROUND, 0, 8);
	}
}

static void put_event_desc(struct file_builder *f)
{
	put_u32(f, 2);
	put_u32(f, attr_bytes(f));
	put_attr(f, 71);
	put_u32(f, 2);
	put_string(f, "test:first");
	put_u64(f, 1001);
	put_u64(f, 1002);
	put_attr(f, 72);
	put_u32(f, 1);
	put_string(f, "test:second");
	put_u64(f, 2001);
}

static void put_build_id(struct file_builder *f)
{
	size_t size = sizeof(struct data_build_id) + 16;

	put_header(f, RECORD_BUILD_ID, PERF_RECORD_MISC_USER | BUILD_ID_MISC_SIZE, size);
	put_u32(f, UINT32_MAX);
	for (char i = 0; i < 20; i++)
		buf_add(&f->bytes, &i, 1);
	buf_add(&f->bytes, "\20\0\0\0", 4); /* 16 bytes */
	buf_add(&f->bytes, "/bin/program\0\0\0\0", 16);
}

static void put_feature(struct file_builder *f, enum data_feature feature)
{
	switch (feature) {
	case FEATURE_TRACING_DATA:
		put_tracing_data(f, 71, 2);
		break;
	case FEATURE_BUILD_ID:
		put_build_id(f);
		break;
	case FEATURE_HOSTNAME:
		put_string(f, "myhost");
		break;
	case FEATURE_NRCPUS:
		put_u32(f, 8);
		put_u32(f, 6);
		break;
	case FEATURE_CMDLINE:
		put_u32(f, 2);
		put_string(f, "perf");
		put_string(f, "record");
		break;
	case FEATURE_EVENT_DESC:
		put_event_desc(f);
		break;
	case FEATURE_SAMPLE_TIME:
		put_u64(f, 1);
		put_u64(f, 25);
		break;
	case FEATURE_CLOCK_DATA:
		put_u32(f, 1);
		put_u32(f, 4);
		put_u64(f, 1700000000000000000);
		put_u64(f, 123);
		break;
	default: /* one that no reader supports */
		put_string(f, "what is this?");
	}
}

static const enum data_feature features[] = {FEATURE_TRACING_DATA, FEATURE_BUILD_ID,
	FEATURE_HOSTNAME, FEATURE_NRCPUS, FEATURE_CMDLINE, FEATURE_EVENT_DESC, FEATURE_SAMPLE_TIME,
	FEATURE_CLOCK_DATA, 200};

/* Writes a number at an offset. */
static void patch_u64(struct file_builder *f, size_t at, uint64_t value)
{
	value = f->swapped ? __builtin_bswap64(value) : value;
	if (!buf_failed(&f->bytes))
		memcpy(f->bytes.data + at, &value, sizeof(value));
}

static void put_features(struct file_builder *f)
{
	size_t table = f->bytes.len;

	put_zeros(f, ARRAY_SIZE(features) * 16);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		size_t start = f->bytes.len;

		put_feature(f, features[i]);
		patch_u64(f, table + i * 16, start);
		patch_u64(f, table + i * 16 + 8, f->bytes.len - start);
	}
}

void build_file(struct file_builder *f, unsigned n, uint64_t *ret_data)
{
	enum { HEADER = 104, IDS = HEADER, ATTRS = IDS + 24 };
	const uint64_t entry = attr_bytes(f) + 16, data = ATTRS + 2 * entry;
	uint64_t bitmap[4] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		bitmap[features[i] / 64] |= 1ULL << features[i] % 64;
	put_u64(f, PERF_DATA_MAGIC);
	put_u64(f, HEADER);
	put_u64(f, entry);
	put_u64(f, ATTRS);
	put_u64(f, 2 * entry);
	put_u64(f, data);
	put_u64(f, n * SAMPLE_BYTES + n / 10 * 8);
	put_zeros(f, 16);
	for (size_t i = 0; i < 4; i++)
		put_u64(f, bitmap[i]);
	put_u64(f, 1001);
	put_u64(f, 1002);
	put_u64(f, 2001);
	put_attr(f, 71);
	put_u64(f, IDS);
	put_u64(f, 16);
	put_attr(f, 72);
	put_u64(f, IDS + 16);
	put_u64(f, 8);
	put_samples(f, n);
	put_features(f);
	if (ret_data)
		*ret_data = data;
}

static void put_feature_record(struct file_builder *f, enum data_feature feature)
{
	struct file_builder one = {.swapped = f->swapped, .attr_bytes = f->attr_bytes};

	put_feature(&one, feature);
	put_zeros(&one, ROUND_UP(one.bytes.len, 8) - one.bytes.len);
	put_header(f, RECORD_FEATURE, 0, 16 + one.bytes.len);
	put_u64(f, feature);
	buf_add(&f->bytes, one.bytes.data, one.bytes.len);
	buf_done(&one.bytes);
}

void build_pipe(struct file_builder *f, unsigned n)
{
	struct file_builder tracing = {.swapped = f->swapped};

	put_u64(f, PERF_DATA_MAGIC);
	put_u64(f, DATA_PIPE_HEADER);
	put_header(f, RECORD_ATTR, 0, 8 + attr_bytes(f) + 16);
	put_attr(f, 71);
	put_u64(f, 1001);
	put_u64(f, 1002);
	put_header(f, RECORD_ATTR, 0, 8 + attr_bytes(f) + 8);
	put_attr(f, 72);
	put_u64(f, 2001);
	for (size_t i = 2; i < ARRAY_SIZE(features); i++)
		put_feature_record(f, features[i]);
	put_tracing_data(&tracing, 71, 2);
	put_zeros(&tracing, ROUND_UP(tracing.bytes.len, 8) - tracing.bytes.len);
	put_header(f, RECORD_TRACING_DATA, 0, 12);
	put_u32(f, (uint32_t)tracing.bytes.len);
	buf_add(&f->bytes, tracing.bytes.data, tracing.bytes.len);
	buf_done(&tracing.bytes);
	put_build_id(f);
	put_samples(f, n);
}

#ifdef HAVE_ZSTD
static void put_compressed(
	struct file_builder *f, ZSTD_CStream *stream, const void *bytes, size_t len, bool two)
{
	static char packed[1 << 16];
	ZSTD_inBuffer in = {bytes, len, 0};
	ZSTD_outBuffer out = {packed, sizeof(packed), 0};

	/* All that was given is flushed; the stream goes on in the next record. */
	if (ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush) != 0)
		abort();
	if (!two) {
		put_header(f, RECORD_COMPRESSED, 0, 8 + out.pos);
		buf_add(&f->bytes, packed, out.pos);
		return;
	}
	put_header(f, RECORD_COMPRESSED2, 0, 16 + ROUND_UP(out.pos, 8));
	put_u64(f, out.pos);
	buf_add(&f->bytes, packed, out.pos);
	put_zeros(f, ROUND_UP(out.pos, 8) - out.pos);
}

void build_compressed(struct file_builder *f, unsigned n, bool two)
{
	struct file_builder samples = {.swapped = f->swapped};
	ZSTD_CStream *stream = ZSTD_createCStream();
	size_t cut = n / 2 * SAMPLE_BYTES + 12;

	build_pipe(f, 0);
	for (unsigned i = 1; i <= n; i++)
		put_sample(&samples, i % 3 == 1 ? 2001 : 1001, i, i);
	put_compressed(f, stream, samples.bytes.data, cut, two);
	put_header(f, RECORD_FINISHED_ROUND, 0, 8);
	put_compressed(f, stream, samples.bytes.data + cut, samples.bytes.len - cut, two);
	ZSTD_freeCStream(stream);
	buf_done(&samples.bytes);
}
#endif
