/* SPDX-License-Identifier: MIT */
#include "report/string_table.h"

static uint64_t hash(const char *text, size_t n)
{
	uint64_t h = n, word;

	for (; n > 8; text += 8, n -= 8) {
		memcpy(&word, text, 8);
		h = base_hash64(h ^ word);
	}
	word = 0;
	memcpy(&word, text, n);
	return base_hash64(h ^ word);
}

/* The slot that holds text, or the free one where it belongs. */
static uint32_t *find(const struct string_table *s, const char *text, size_t n)
{
	size_t i = hash(text, n) & (s->size - 1);

	while (s->slots[i] && strcmp(string_table_get(s, s->slots[i] - 1), text) != 0)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static int grow(struct string_table *s)
{
	uint32_t *old = s->slots;
	size_t size = s->size ? s->size * 2 : 64;

	s->slots = calloc(size, sizeof(*s->slots));
	if (!s->slots) {
		s->slots = old;
		return base_oom();
	}
	free(old);
	s->size = size;
	for (uint32_t id = 0; id < s->starts.n; id++) {
		const char *text = string_table_get(s, id);

		*find(s, text, strlen(text)) = id + 1;
	}
	return 0;
}

static int append(struct string_table *s, const char *text, size_t n, uint32_t *ret_id)
{
	uint32_t *slot, start = (uint32_t)s->bytes.len;

	if (n >= UINT32_MAX - s->bytes.len)
		return base_oom();
	if ((s->starts.n + 1) * 4 > s->size * 3 && grow(s) < 0)
		return base_oom();
	slot = find(s, text, n);
	if (!*slot) {
		buf_add(&s->bytes, text, n + 1);
		if (buf_failed(&s->bytes) || vec_push(&s->starts, start) < 0)
			return base_oom();
		*slot = (uint32_t)s->starts.n;
	}
	*ret_id = *slot - 1;
	return 0;
}

int string_table_add(struct string_table *s, const char *text, uint32_t *ret_id)
{
	uint32_t zero;

	if (!s->starts.n && append(s, "", 0, &zero) < 0)
		return base_oom();
	return append(s, text, strlen(text), ret_id);
}

const char *string_table_get(const struct string_table *s, uint32_t id)
{
	return s->starts.n ? s->bytes.data + s->starts.at[id] : "";
}

void string_table_done(struct string_table *s)
{
	buf_done(&s->bytes);
	vec_done(&s->starts);
	free(s->slots);
	s->slots = NULL;
	s->size = 0;
}
