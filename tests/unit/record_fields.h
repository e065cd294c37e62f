/* SPDX-License-Identifier: MIT */
/*
 * Members of struct attar_record as rows of tables, for what a test does with each of them.
 *
 *	static const struct record_field fields[] = {
 *		{RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.pid)}, ...};
 *
 *	if (record_has(rec, &fields[i]))
 *		print(record_number(rec, &fields[i]));
 */
#ifndef RECORD_FIELDS_H
#define RECORD_FIELDS_H

#include <string.h>

#include "attar/record.h"

enum record_field_kind {
	RECORD_BOOL = sizeof(bool),
	RECORD_16 = sizeof(uint16_t),
	RECORD_32 = sizeof(uint32_t),
	RECORD_64 = sizeof(uint64_t),
	RECORD_TEXT = 100, /* const char * */
	RECORD_TAG,        /* const uint8_t *: RECORD_TAG_BYTES */
};

enum { RECORD_TAG_BYTES = 8 };

struct record_field {
	uint32_t types; /* of records: 1 << PERF_RECORD_* */
	enum record_field_kind kind;
	size_t offset; /* in struct attar_record */
};

#define RECORD_IS(name) (1U << PERF_RECORD_##name)
#define RECORD_FIELD(member)                                                                       \
	_Generic(((struct attar_record *)0)->member,                                               \
		bool: RECORD_BOOL,                                                                 \
		uint16_t: RECORD_16,                                                               \
		uint32_t: RECORD_32,                                                               \
		uint64_t: RECORD_64,                                                               \
		const char *: RECORD_TEXT,                                                         \
		const uint8_t *: RECORD_TAG),                                                      \
		offsetof(struct attar_record, member)

static inline bool record_has(const struct attar_record *rec, const struct record_field *field)
{
	return rec->type < 32 && (field->types & 1U << rec->type);
}

/* The value of a number, or of a bool. */
static inline uint64_t record_number(
	const struct attar_record *rec, const struct record_field *field)
{
	uint64_t value = 0; /* its first bytes are the lowest ones: x86-64 and arm64 */

	memcpy(&value, (const char *)rec + field->offset, field->kind);
	return value;
}

/* The text or the bytes to which the member points. */
static inline const char *record_text(
	const struct attar_record *rec, const struct record_field *field)
{
	const char *text;

	memcpy(&text, (const char *)rec + field->offset, sizeof(text));
	return text;
}

#endif
