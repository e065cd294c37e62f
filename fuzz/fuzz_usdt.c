/* SPDX-License-Identifier: MIT */
/*
 * The note of a USDT probe in a program: fields, signs and operands, separated by NUL. The command
 * for tracefs must be one line without a second command, and no field may be larger than a record.
 */
#include "event/usdt.h"
#include "event/user_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct usdt_field *fields, size_t n, const char *fetch)
{
	if (n > USDT_FIELDS || strpbrk(fetch, "\n#"))
		abort();
	for (size_t i = 0; i < n; i++) {
		const struct usdt_field *f = &fields[i];

		if (!f->size || f->size > 8 || f->n_chunks > USDT_CHUNKS)
			abort();
		if (strchr("na", f->sign) && (!f->count || f->count > 4096))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text _cleanup_free_ = calloc(1, size + 3);
	struct buf fetch _cleanup_(buf_done) = {0}, spelled _cleanup_(buf_done) = {0};
	struct usdt_field fields[USDT_FIELDS];
	struct usdt_site site = {.event = "event"};
	struct attar_format *format = NULL;
	size_t n = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	site.fields = text;
	site.signs = site.fields + strlen(site.fields) + 1;
	site.operands = site.signs + strlen(site.signs) + 1;
	if (site.operands > text + size)
		site.fields = NULL; /* a note with operands only */
	if (!site.fields)
		site.operands = text;
	if (usdt_plan(&site, fields, &n, &fetch, &spelled) == 0) {
		check(fields, n, buf_text(&fetch));
		if (userevent_format("event", buf_text(&spelled), 0, &format) == 0)
			attar_format_free(format);
	}
	return 0;
}
