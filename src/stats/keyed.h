/* SPDX-License-Identifier: MIT */
/*
 * Entries of a fixed size that are found by a key of up to KEYED_MAX bytes: the storage of tables,
 * pairs and states. Entries are allocated in chunks, do not move, and are reused after
 * keyed_release(), so that a table in steady state allocates nothing.
 *
 *	struct keyed k;
 *	keyed_init(&k, sizeof(struct row), 8, 1000);
 *	struct keyed_key key = keyed_number(&tid);
 *	struct row *row = keyed_find(&k, &key);
 *	if (!row && (row = keyed_new(&k, &key)))
 *		keyed_link(&k, row);
 *	keyed_done(&k);
 *
 * An entry is a struct of the caller; a struct keyed_head precedes it in memory, and the bytes of
 * its key follow it.
 */
#ifndef STATS_KEYED_H
#define STATS_KEYED_H

#include "base/slots.h"

enum { KEYED_MAX = 256, KEYED_CHUNK = 64 };

struct keyed_head {
	uint64_t number; /* of the key, see struct keyed_key; of a free entry: the next one */
	uint32_t index;
	uint16_t key_size;
	bool used;
};

struct keyed {
	size_t size;     /* of the caller's struct, rounded up to 8 */
	size_t key_max;  /* at least 8, rounded up to 8 */
	size_t stride;   /* of an entry */
	uint32_t max;    /* entries */
	uint32_t n;      /* entries in use */
	uint32_t begun;  /* entries that have been used */
	uint32_t unused; /* list of free entries: index + 1 */
	char **chunks;
	size_t n_chunks, room;    /* of chunks: allocated, and size of the array */
	struct slots slots;       /* index + 1 of each linked entry */
	uint64_t seed;            /* so that programs cannot choose keys that collide */
};

/* A key to look up. number is a key of 8 bytes itself, or the hash of another one. */
struct keyed_key {
	uint64_t number;
	const void *bytes; /* borrowed */
	size_t size;
};

/* Entries of `size` bytes; keys of at most key_max bytes; at most max entries. */
void keyed_init(struct keyed *k, size_t size, size_t key_max, size_t max);
void keyed_done(struct keyed *k);

/* Releases all entries; keeps the memory. */
void keyed_reset(struct keyed *k);

/* Makes sure that there is a free entry. 0; -ENOMEM: out of memory, or keyed_is_full(). */
int keyed_make_room(struct keyed *k);

/* Makes an entry the one that is found by its key. */
void keyed_link(struct keyed *k, void *entry);
void keyed_unlink(struct keyed *k, void *entry);

/* The first entry in use with at least that index, in order of the index; NULL if none. */
void *keyed_from(const struct keyed *k, uint32_t index);

/* Memory that is allocated, in bytes. */
size_t keyed_memory(const struct keyed *k);

uint64_t keyed_hash(const struct keyed *k, const void *bytes, size_t size);

/* <0, 0, >0: the order of two entries' keys; of keys of 8 bytes, the order of their numbers. */
int keyed_compare(const struct keyed *k, const void *a, const void *b);

#define keyed_each(k, type, it)                                                                    \
	for (type *it = keyed_from((k), 0); it; it = keyed_from((k), keyed_head(it)->index + 1))

static inline struct keyed_head *keyed_head(const void *entry)
{
	return (struct keyed_head *)entry - 1;
}

static inline void *keyed_bytes(const struct keyed *k, const void *entry)
{
	return (char *)entry + k->size;
}

static inline bool keyed_is_full(const struct keyed *k)
{
	return k->n >= k->max;
}

/* Another entry needs memory. */
static inline bool keyed_is_used_up(const struct keyed *k)
{
	return !k->unused && k->begun == k->n_chunks * KEYED_CHUNK;
}

static inline void *keyed_at(const struct keyed *k, uint32_t index)
{
	return k->chunks[index / KEYED_CHUNK] + index % KEYED_CHUNK * k->stride +
	       sizeof(struct keyed_head);
}

/* number is borrowed as long as the key is used. */
static inline struct keyed_key keyed_number(const uint64_t *number)
{
	return (struct keyed_key){*number, number, sizeof(*number)};
}

static inline struct keyed_key keyed_key(const struct keyed *k, const void *bytes, size_t size)
{
	struct keyed_key key = {.bytes = bytes, .size = size};

	if (size == sizeof(key.number))
		memcpy(&key.number, bytes, sizeof(key.number));
	else
		key.number = keyed_hash(k, bytes, size);
	return key;
}

/* Frees an entry, which is not linked; its contents stay until the next keyed_new(). */
static inline void keyed_release(struct keyed *k, void *entry)
{
	struct keyed_head *head = keyed_head(entry);

	head->used = false;
	head->number = k->unused;
	k->unused = head->index + 1;
	k->n--;
}

/* The key of an entry, borrowed from it. */
static inline struct keyed_key keyed_key_of(const struct keyed *k, const void *entry)
{
	const struct keyed_head *head = keyed_head(entry);

	return (struct keyed_key){head->number, keyed_bytes(k, entry), head->key_size};
}

static inline uint32_t keyed_slot_hash(const struct keyed *k, uint64_t number)
{
	return (uint32_t)base_hash64(number ^ k->seed);
}

static inline bool keyed_is(const struct keyed *k, const void *entry, const struct keyed_key *key)
{
	const struct keyed_head *head = keyed_head(entry);

	if (head->number != key->number || head->key_size != key->size)
		return false;
	return key->size == sizeof(key->number) ||
	       memcmp(keyed_bytes(k, entry), key->bytes, key->size) == 0;
}

/* The same for a key of 8 bytes. */
static inline bool keyed_is_number(const void *entry, uint64_t number)
{
	const struct keyed_head *head = keyed_head(entry);

	return head->number == number && head->key_size == sizeof(number);
}

/* Copies a key to an entry that is not linked. */
static inline void keyed_set_key(const struct keyed *k, void *entry, const struct keyed_key *key)
{
	struct keyed_head *head = keyed_head(entry);

	if (likely(key->size == sizeof(key->number)))
		memcpy(keyed_bytes(k, entry), &key->number, sizeof(key->number));
	else
		memcpy(keyed_bytes(k, entry), key->bytes, key->size);
	head->number = key->number;
	head->key_size = (uint16_t)key->size;
}

/*
 * Takes a free entry, whose contents are undefined, with a copy of the key; it is not found before
 * keyed_link(). NULL: out of memory, or keyed_is_full(). A key may have several entries of which
 * one is linked.
 */
static inline void *keyed_new(struct keyed *k, const struct keyed_key *key)
{
	struct keyed_head *head;
	void *entry;

	if (unlikely(!k->unused || k->n >= (k->slots.mask + 1) / 2) && keyed_make_room(k) < 0)
		return NULL;
	entry = keyed_at(k, k->unused - 1);
	head = keyed_head(entry);
	k->unused = (uint32_t)head->number;
	keyed_set_key(k, entry, key);
	head->used = true;
	k->n++;
	return entry;
}

/* The linked entry with that key, or NULL. */
static inline void *keyed_find(const struct keyed *k, const struct keyed_key *key)
{
	uint32_t hash = keyed_slot_hash(k, key->number);

	slots_each (&k->slots, hash, number) {
		void *entry = keyed_at(k, number - 1);

		if (likely(keyed_is(k, entry, key)))
			return entry;
	}
	return NULL;
}

#endif
