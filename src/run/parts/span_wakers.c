/* SPDX-License-Identifier: MIT */
#include "run/parts/span_wakers.h"

#include "stats/functions.h"

static uint64_t hash_of(const struct span_waker *key, const attar_location *stack)
{
	uint64_t hash = base_hash64((uint64_t)(uint32_t)key->tid << 32 | key->comm);

	for (size_t i = 0; i < key->depth; i++)
		hash = base_hash64(hash ^ stack[i]);
	return hash;
}

static bool is_equal(const struct span_wakers *wakers, const struct span_waker *a,
	const struct span_waker *b, const attar_location *stack)
{
	return a->comm == b->comm && a->pid == b->pid && a->tid == b->tid && a->depth == b->depth &&
	       (!a->depth ||
		       !memcmp(&wakers->locations.at[a->at], stack, a->depth * sizeof(*stack)));
}

int span_wakers_add(struct span_wakers *wakers, struct intern *texts,
	const struct attar_waker *waker, uint32_t *ret_number)
{
	struct span_waker new = {.pid = waker->pid, .tid = waker->tid, .depth = waker->depth};
	uint64_t hash, *known;

	if (intern_id(texts, waker->comm, &new.comm) < 0)
		return -ENOMEM;
	hash = hash_of(&new, waker->stack);
	known = map_get(&wakers->number_of, hash);
	if (known && is_equal(wakers, &wakers->all.at[*known - 1], &new, waker->stack)) {
		*ret_number = (uint32_t)*known;
		return 0;
	}
	new.at = wakers->locations.n;
	if (vec_reserve(&wakers->locations, new.depth) < 0 || vec_push(&wakers->all, new) < 0)
		return -ENOMEM;
	if (new.depth)
		memcpy(wakers->locations.at + new.at, waker->stack,
			new.depth * sizeof(*waker->stack));
	wakers->locations.n += new.depth;
	*ret_number = (uint32_t)wakers->all.n;
	return map_put(&wakers->number_of, hash, *ret_number);
}

const struct span_waker *span_wakers_get(const struct span_wakers *wakers, uint32_t number)
{
	return &wakers->all.at[number - 1];
}

void span_wakers_resolve(struct span_wakers *wakers, struct attar_symbols *symbols)
{
	char place[LOCATION_TEXT_MAX];

	vec_each (&wakers->all, waker) {
		if (waker->text.len)
			continue;
		for (size_t i = 0; i < waker->depth; i++) {
			attar_location location = wakers->locations.at[waker->at + i];
			struct attar_symbol symbol;
			bool has_name = attar_symbols_resolve(symbols, location, &symbol) == 0;

			if (!has_name)
				location_text(symbols, location, place);
			buf_str(&waker->text, i ? " < " : "");
			buf_str(&waker->text, has_name ? symbol.name : place);
		}
	}
}

size_t span_wakers_bytes(const struct span_wakers *wakers)
{
	return wakers->all.n * sizeof(*wakers->all.at) +
	       wakers->locations.n * sizeof(*wakers->locations.at);
}

void span_wakers_done(struct span_wakers *wakers)
{
	vec_each (&wakers->all, waker)
		buf_done(&waker->text);
	vec_done(&wakers->all);
	vec_done(&wakers->locations);
	map_done(&wakers->number_of);
}
