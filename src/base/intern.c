/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

enum { BLOCK_BYTES = 16384 };

struct intern_block {
	struct intern_block *next;
	size_t used, size;
	char bytes[];
};

static uint32_t hash(const char *text, size_t n)
{
	uint64_t h = n, word;

	for (; n > 8; text += 8, n -= 8) {
		memcpy(&word, text, 8);
		h = base_hash64(h ^ word);
	}
	word = 0;
	memcpy(&word, text, n);
	return (uint32_t)base_hash64(h ^ word);
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
static int intern_add(struct intern *t, const char *text, size_t n, uint32_t its_hash)
{
	char *copy = t->texts.n <= UINT32_MAX ? allocate(t, n + 1) : NULL;

	if (!copy || vec_reserve(&t->texts, 1) < 0 ||
		slots_add(&t->slots, its_hash, (uint32_t)t->texts.n) < 0)
		return base_oom();
	memcpy(copy, text, n);
	copy[n] = '\0';
	t->texts.at[t->texts.n++] = copy;
	t->n++;
	return 0;
}

static int intern(struct intern *t, const char *text, size_t n, uint32_t *ret_id)
{
	uint32_t its_hash = hash(text, n);

	if (!n) {
		*ret_id = 0;
		return 0;
	}
	if (!t->texts.n && vec_push(&t->texts, "") < 0)
		return base_oom();
	slots_each (&t->slots, its_hash, id)
		if (!strncmp(t->texts.at[id], text, n) && !t->texts.at[id][n]) {
			*ret_id = id;
			return 0;
		}
	if (intern_add(t, text, n, its_hash) < 0)
		return -ENOMEM;
	*ret_id = (uint32_t)t->texts.n - 1;
	return 0;
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
	slots_done(&t->slots);
	*t = (struct intern){0};
}
