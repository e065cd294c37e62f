/* SPDX-License-Identifier: MIT */
/*
 * Records of the other byte order. A sample consists of 64-bit words, so all words are swapped
 * first; the parser then finds the parts that are something else: pairs of 32 bits, bit fields, and
 * bytes, which are swapped back.
 */
#include "perfdata/swap.h"

#include "record/record.h"
#include "record/uapi.h"

typedef uint32_t __attribute__((may_alias)) half_word;

static void swap_words(void *at, size_t n)
{
	record_word *words = at;

	for (size_t i = 0; i < n; i++)
		words[i] = __builtin_bswap64(words[i]);
}

static void swap_bytes(char *at, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		char byte = at[i];

		at[i] = at[size - 1 - i];
		at[size - 1 - i] = byte;
	}
}

/* Two numbers of 32 bits that were swapped as one of 64 bits. */
static void exchange_halves(void *at)
{
	record_word *word = at;

	*word = *word << 32 | *word >> 32;
}

/* ---- raw data of tracepoints ---- */

static void swap_elements(char *at, size_t len, size_t element)
{
	for (size_t i = 0; element > 1 && i + element <= len; i += element)
		swap_bytes(at + i, element);
}

static void swap_field(const struct attar_field *field, char *raw, size_t size)
{
	size_t len;

	if ((size_t)field->offset + field->size > size)
		return;
	if (field->place != ATTAR_FIELD_FIXED) {
		const void *bytes;

		swap_bytes(raw + field->offset, field->size);
		bytes = attar_field_bytes(field, raw, size, &len);
		if (bytes && field->kind == ATTAR_FIELD_ARRAY)
			swap_elements((char *)bytes, len, field->element);
	} else if (field->kind == ATTAR_FIELD_NUMBER) {
		swap_bytes(raw + field->offset, field->size);
	} else if (field->kind == ATTAR_FIELD_ARRAY) {
		swap_elements(raw + field->offset, field->size, field->element);
	}
}

void swap_raw(const struct attar_format *format, void *raw, size_t size)
{
	for (size_t i = 0; i < format->n_fields; i++)
		swap_field(&format->fields[i], raw, size);
}

/* ---- samples ---- */

/* The word that holds the size of raw data, as u32; NULL if the record is too short. */
static void *find_raw(const struct attar_layout *layout, const struct perf_event_header *header)
{
	struct record_cursor c = {
		.at = (const record_word *)((const char *)header + layout->fixed_end),
		.end = (const record_word *)((const char *)header + header->size),
	};
	struct attar_read read;
	const record_word *nr;

	if ((layout->sample_type & PERF_SAMPLE_READ) &&
		!record_read(layout->read_format, &c, &read))
		return NULL;
	if (layout->sample_type & PERF_SAMPLE_CALLCHAIN) {
		nr = record_take(&c, 1);
		if (!nr || !record_take(&c, *nr))
			return NULL;
	}
	return (void *)record_take(&c, 1);
}

/* From the highest bit down to from the lowest bit up: the bit fields of perf_branch_entry. */
static uint64_t swap_branch_flags(uint64_t flags)
{
	static const uint8_t widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};
	uint64_t swapped = 0;

	for (unsigned i = 0, at = 0; i < ARRAY_SIZE(widths); at += widths[i++])
		swapped |= (flags >> (64 - at - widths[i]) & ((1ULL << widths[i]) - 1)) << at;
	return swapped;
}

static void restore_bytes(const struct attar_sample *sample, const struct attar_format *format)
{
	if (sample->raw) {
		half_word *first = (half_word *)sample->raw;

		*first = __builtin_bswap32(*first);
		swap_words(first + 1, sample->raw_size / 8);
		if (format)
			swap_raw(format, first, sample->raw_size);
	}
	if (sample->stack) /* the word before has the size, of which the kernel copied a part */
		swap_words((void *)sample->stack, ((const record_word *)sample->stack)[-1] / 8);
	if (sample->aux)
		swap_words((void *)sample->aux, sample->aux_size / 8);
}

static bool swap_sample(const struct attar_layout *layout, const struct attar_format *format,
	struct perf_event_header *header)
{
	char *bytes = (char *)header;
	struct attar_record rec;

	if (header->size < layout->sample_min)
		return false;
	swap_words(header + 1, header->size / 8 - 1);
	if (layout->tid > 0)
		exchange_halves(bytes + layout->tid);
	if (layout->cpu > 0)
		exchange_halves(bytes + layout->cpu);
	if (layout->sample_type & PERF_SAMPLE_RAW) {
		void *raw = find_raw(layout, header);

		if (!raw)
			return false;
		exchange_halves(raw);
	}
	if (attar_record_parse(layout, header, header->size, &rec) < 0)
		return false;
	for (uint32_t i = 0; i < rec.sample.branch_nr; i++) {
		record_word *flags = (record_word *)(rec.sample.branches + i) + 2;

		*flags = swap_branch_flags(*flags);
	}
	restore_bytes(&rec.sample, format);
	return true;
}

/* ---- other records ---- */

/*
 * The numbers at the start of each type: h, w and q have 2, 4 and 8 bytes, * repeats the last one
 * up to the trailer. Text and bytes that follow stay as they are.
 */
static const char *const shapes[] = {
	[PERF_RECORD_MMAP] = "wwqqq",
	[PERF_RECORD_LOST] = "qq",
	[PERF_RECORD_COMM] = "ww",
	[PERF_RECORD_EXIT] = "wwwwq",
	[PERF_RECORD_THROTTLE] = "qqq",
	[PERF_RECORD_UNTHROTTLE] = "qqq",
	[PERF_RECORD_FORK] = "wwwwq",
	[PERF_RECORD_READ] = "wwq*",
	[PERF_RECORD_MMAP2] = "wwqqqwwqqww",
	[PERF_RECORD_AUX] = "qqq",
	[PERF_RECORD_ITRACE_START] = "ww",
	[PERF_RECORD_LOST_SAMPLES] = "q",
	[PERF_RECORD_SWITCH] = "",
	[PERF_RECORD_SWITCH_CPU_WIDE] = "ww",
	[PERF_RECORD_NAMESPACES] = "wwqq*",
	[PERF_RECORD_KSYMBOL] = "qwhh",
	[PERF_RECORD_BPF_EVENT] = "hhw",
	[PERF_RECORD_CGROUP] = "q",
	[PERF_RECORD_TEXT_POKE] = "qhh",
	[PERF_RECORD_AUX_OUTPUT_HW_ID_] = "q",
	[PERF_RECORD_CALLCHAIN_DEFERRED_] = "qqq*",
};

/* Like MMAP2, with 24 bytes of a build ID, marked by b, in place of the file's numbers. */
static const char mmap2_build_id[] = "wwqqqbww";

static size_t width_of(char c)
{
	return c == 'h' ? 2 : c == 'w' ? 4 : c == 'q' ? 8 : 24;
}

static bool swap_shape(const char *shape, char *at, char *end)
{
	for (; *shape && *shape != '*'; shape++) {
		size_t width = width_of(*shape);

		if (shape[1] == '*') {
			for (; (size_t)(end - at) >= width; at += width)
				swap_bytes(at, width);
			break;
		}
		if ((size_t)(end - at) < width)
			return false;
		if (*shape != 'b')
			swap_bytes(at, width);
		at += width;
	}
	return true;
}

/* The trailer consists of words, two of which are pairs of 32 bits. */
static void swap_trailer(const struct attar_layout *layout, char *end)
{
	swap_words(end - layout->trailer_size, layout->trailer_size / 8);
	if (layout->back_tid > 0)
		exchange_halves(end - layout->back_tid);
	if (layout->back_cpu > 0)
		exchange_halves(end - layout->back_cpu);
}

/* The word that decides it follows the process, thread, address, length and offset. */
static bool is_with_build_id(
	const struct attar_layout *layout, const struct perf_event_header *header)
{
	size_t offset = sizeof(*header) + 2 * sizeof(uint32_t) + 3 * sizeof(uint64_t);

	return header->size >= offset + sizeof(uint32_t) &&
	       record_has_build_id(layout, header->misc, (const char *)header + offset);
}

bool swap_record(const struct attar_layout *layout, const struct attar_format *format, void *record)
{
	struct perf_event_header *header = record;
	char *end = (char *)record + header->size;
	const char *shape;

	/* the lengths in TEXT_POKE are not swapped yet */
	if (header->type != PERF_RECORD_TEXT_POKE)
		end = (char *)record + record_end(layout, header, record);

	if (header->type == PERF_RECORD_SAMPLE)
		return swap_sample(layout, format, header);
	shape = header->type < ARRAY_SIZE(shapes) ? shapes[header->type] : NULL;
	if (!shape)
		return true; /* of unknown meaning */
	if (header->size < sizeof(*header) + layout->trailer_size)
		return false;
	if (header->type == PERF_RECORD_MMAP2 && is_with_build_id(layout, header))
		shape = mmap2_build_id;
	swap_trailer(layout, end);
	return swap_shape(shape, (char *)(header + 1), end - layout->trailer_size);
}
