/* SPDX-License-Identifier: MIT */
/* Fields of the records of tracepoints, by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/format.h"
#include "data.h"
#include "error.h"
#include "fields.h"

struct kp_field {
	struct kp_field *next;
	const struct attar_field *field;
	struct SampleRawField described;
};

void kp_fields_free(struct kp_field *fields)
{
	for (struct kp_field *next; fields; fields = next) {
		next = fields->next;
		free(fields->described.fieldStr);
		free(fields);
	}
}

/* The record of the data and its field; NULL: the call has failed. */
static const struct kp_raw *find(const struct SampleRawData *data, const char *name,
	const char *function, const struct attar_field **ret_field)
{
	const struct kp_raw *raw;

	if (!data || !data->data || !name) {
		kp_fail(LIBPERF_ERR_INVALID_FIELD_ARGS, "%s(): %s is NULL", function,
			name ? "rawData" : "fieldName");
		return NULL;
	}
	raw = (const void *)(data->data - sizeof(*raw));
	if (raw->magic != KP_RAW_MAGIC || !raw->format) {
		kp_fail(LIBPERF_ERR_INVALID_FIELD_ARGS, "%s(): rawData is not that of a tracepoint",
			function);
		return NULL;
	}
	if (attar_format_need(raw->format, name, ret_field) < 0) {
		kp_fail(LIBPERF_ERR_FIND_FIELD_LOSS, "%s", attar_error());
		return NULL;
	}
	return raw;
}

int PmuGetField(struct SampleRawData *data, const char *name, void *value, uint32_t room)
{
	const struct attar_field *field;
	const struct kp_raw *raw;
	const void *bytes;
	size_t len;

	kp_begin();
	if (!value)
		return kp_fail(LIBPERF_ERR_INVALID_FIELD_ARGS, "PmuGetField(): value is NULL");
	raw = find(data, name, "PmuGetField", &field);
	if (!raw)
		return Perrorno();
	bytes = attar_field_bytes(field, raw->bytes, raw->size, &len);
	if (!bytes)
		return kp_fail(LIBPERF_ERR_BUFFER_CORRUPTED,
			"PmuGetField(): the field %s is outside its record of %zu bytes", name,
			raw->size);
	if (len > room)
		return kp_fail(LIBPERF_ERR_INVALID_FIELD_ARGS,
			"PmuGetField(): the field %s has %zu bytes, and value has room for %u",
			name, len, room);
	memcpy(value, bytes, len);
	if (field->kind == ATTAR_FIELD_STRING && len < room)
		((char *)value)[len] = '\0';
	return SUCCESS;
}

/* "char prev_comm[16]": the type with the name before its brackets, as the kernel declares it. */
static char *declaration(const struct attar_field *field)
{
	int before = (int)strcspn(field->type, "[");
	char *text;

	if (field->place != ATTAR_FIELD_FIXED)
		before = (int)strlen(field->type);
	if (asprintf(&text, "%.*s %s%s", before, field->type, field->name, field->type + before) <
		0)
		return NULL;
	return text;
}

/* The origin's lock is held. NULL if out of memory. */
static struct kp_field *describe(struct kp_origin *origin, const struct attar_field *field)
{
	struct kp_field *known = origin->fields;

	while (known && known->field != field)
		known = known->next;
	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->described = (struct SampleRawField){
		.fieldName = (char *)field->name,
		.fieldStr = declaration(field),
		.offset = field->offset,
		.size = field->size,
		.isSigned = field->is_signed,
	};
	if (!known->described.fieldStr) {
		free(known);
		return NULL;
	}
	known->field = field;
	known->next = origin->fields;
	return origin->fields = known;
}

struct SampleRawField *PmuGetFieldExp(struct SampleRawData *data, const char *name)
{
	const struct attar_field *field;
	const struct kp_raw *raw;
	struct kp_field *known;

	kp_begin();
	raw = find(data, name, "PmuGetFieldExp", &field);
	if (!raw)
		return NULL;
	pthread_mutex_lock(&raw->origin->lock);
	known = describe(raw->origin, field);
	pthread_mutex_unlock(&raw->origin->lock);
	if (!known)
		kp_fail(COMMON_ERR_NOMEM, "PmuGetFieldExp(): out of memory");
	return known ? &known->described : NULL;
}
