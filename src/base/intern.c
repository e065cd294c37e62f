/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

enum { BLOCK_BYTES = 16384 };

struct intern_block {
	struct intern_block *next;
	size_t used, size;
	char bytes[];
};

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
static uint32_t *intern_find(const struct intern *t, const char *text, size_t n)
{
	size_t i = hash(text, n) & (t->size - 1);

	while (t->slots[i]) {
		const char *known = t->texts.at[t->slots[i]];

		if (!strncmp(known, text, n) && !known[n])
			break;
		i = (i + 1) & (t->size - 1);
	}
	return &t->slots[i];
}

static int intern_grow(struct intern *t)
{
	uint32_t *old = t->slots;
	size_t size = t->size ? t->size * 2 : 64;

	t->slots = calloc(size, sizeof(*t->slots));
	if (!t->slots) {
		t->slots = old;
		return base_oom();
	}
	free(old);
	t->size = size;
	for (uint32_t id = 1; id < t->texts.n; id++)
		*intern_find(t, t->texts.at[id], strlen(t->texts.at[id])) = id;
	return 0;
}

static char *allocate(struct intern *t, size_t n)
{
	struct intern_block *b = t->blocks;
	size_t size = MAX(n, (size_t)BLOCK_BYTES);

	if (!b || b->size - b->used < n) {
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct intern_block){.next = t->blocks, .size = size};
		t->blocks = b;
		t->bytes += size;
	}
	b->used += n;
	return b->bytes + b->used - n;
}

/* Adds a string of n bytes without NUL that is not in the table. */
static int intern_add(struct intern *t, const char *text, size_t n, uint32_t *slot)
{
	char *copy = t->texts.n <= UINT32_MAX ? allocate(t, n + 1) : NULL;

	if (!copy || vec_push(&t->texts, copy) < 0)
		return base_oom();
	memcpy(copy, text, n);
	copy[n] = '\0';
	*slot = (uint32_t)t->texts.n - 1;
	t->n++;
	return 0;
}

static int intern(struct intern *t, const char *text, size_t n, uint32_t *ret_id)
{
	uint32_t *slot;
	int r = 0;

	if (!n) {
		*ret_id = 0;
		return 0;
	}
	if (!t->texts.n && vec_push(&t->texts, "") < 0)
		return base_oom();
	if (t->texts.n * 4 > t->size * 3 && intern_grow(t) < 0)
		return base_oom();
	slot = intern_find(t, text, n);
	if (!*slot)
		r = intern_add(t, text, n, slot);
	if (r == 0)
		*ret_id = *slot;
	return r;
}

const char *intern_bytes(struct intern *t, const char *text, size_t n)
{
	uint32_t id;

	return intern(t, text, strnlen(text, n), &id) < 0 ? NULL : intern_get(t, id);
}

const char *intern_text(struct intern *t, const char *text)
{
	uint32_t id;

	return intern(t, text, strlen(text), &id) < 0 ? NULL : intern_get(t, id);
}

int intern_id(struct intern *t, const char *text, uint32_t *ret_id)
{
	return intern(t, text, strlen(text), ret_id);
}

void intern_done(struct intern *t)
{
	while (t->blocks) {
		struct intern_block *b = t->blocks;

		t->blocks = b->next;
		free(b);
	}
	vec_done(&t->texts);
	free(t->slots);
	*t = (struct intern){0};
}
