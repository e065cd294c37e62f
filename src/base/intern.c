/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

enum { BLOCK_BYTES = 16384 };

struct intern_block {
	struct intern_block *next;
	size_t used, size;
	char bytes[];
};

static const char **find(const struct intern *t, const char *text, size_t n)
{
	size_t i = base_hash64(base_hash_bytes(BASE_HASH_START, text, n)) & (t->size - 1);

	while (t->slots[i] && (strncmp(t->slots[i], text, n) || t->slots[i][n]))
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static int grow(struct intern *t)
{
	struct intern bigger = {.size = t->size ? t->size * 2 : 64};

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return base_oom();
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i])
			*find(&bigger, t->slots[i], strlen(t->slots[i])) = t->slots[i];
	free(t->slots);
	t->slots = bigger.slots;
	t->size = bigger.size;
	return 0;
}

static char *allocate(struct intern *t, size_t n)
{
	struct intern_block *b = t->blocks;
	size_t size = MAX(n, (size_t)BLOCK_BYTES);

	if (!b || b->size - b->used < n) {
		b = malloc(sizeof(*b) + size);
		if (!b) {
			base_oom();
			return NULL;
		}
		*b = (struct intern_block){.next = t->blocks, .size = size};
		t->blocks = b;
		t->bytes += size;
	}
	b->used += n;
	return b->bytes + b->used - n;
}

const char *intern_bytes(struct intern *t, const char *text, size_t n)
{
	const char **slot;
	char *copy;

	n = strnlen(text, n);
	if ((t->n + 1) * 4 > t->size * 3 && grow(t) < 0)
		return NULL;
	slot = find(t, text, n);
	if (*slot)
		return *slot;
	copy = allocate(t, n + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	t->n++;
	return *slot = copy;
}

const char *intern_text(struct intern *t, const char *text)
{
	return intern_bytes(t, text, strlen(text));
}

void intern_done(struct intern *t)
{
	while (t->blocks) {
		struct intern_block *b = t->blocks;

		t->blocks = b->next;
		free(b);
	}
	free(t->slots);
	*t = (struct intern){0};
}
