/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi_table.h"

#include <stdlib.h>

#include "dwarf/cfi_frames.h"

enum { EXPRESSION_MAX = 512, EXPRESSIONS_MAX = 1 << 20, SAME_EXPRESSIONS = 64 };

void cfi_table_done(struct cfi_table *table)
{
	free(table->starts);
	free(table->rule_of);
	vec_each (&table->chunks, chunk)
		free(*chunk);
	vec_done(&table->chunks);
	vec_done(&table->at);
	vec_done(&table->expressions);
	vec_done(&table->bytes);
	cfi_frames_free(table->frames);
	*table = (struct cfi_table){0};
}

size_t cfi_table_memory(const struct cfi_table *table)
{
	return table->n * (sizeof(*table->starts) + sizeof(*table->rule_of)) +
	       table->chunks.n * CFI_CHUNK_WORDS * sizeof(uint32_t) +
	       table->at.size * sizeof(uint32_t) +
	       table->expressions.size * sizeof(struct cfi_expression) + table->bytes.size +
	       cfi_frames_memory(table->frames);
}

/* ---- distinct rules ---- */

static size_t words_of(const struct cfi_rules *rules)
{
	return (sizeof(*rules) + rules->n * sizeof(struct cfi_rule)) / sizeof(uint32_t);
}

/* What precedes the array of rules. */
static uint64_t head_of(const struct cfi_rules *rules)
{
	uint64_t head;

	memcpy(&head, rules, sizeof(head));
	return head;
}

static uint32_t hash_of(const struct cfi_rules *rules)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rules->n; i++)
		sum += cfi_rule_hash(rules->rules[i]);
	return (uint32_t)base_hash64(head_of(rules) + sum);
}

static bool same_rules(const struct cfi_rules *rules, const struct cfi_rule *of_register)
{
	for (size_t i = 0; i < rules->n; i++)
		if (memcmp(&rules->rules[i], &of_register[rules->rules[i].reg],
			    sizeof(struct cfi_rule)) != 0)
			return false;
	return true;
}

int cfi_builder_find(const struct cfi_builder *b, const struct cfi_rules *rules, uint64_t sum,
	const struct cfi_rule *of_register)
{
	uint64_t head = head_of(rules);
	uint32_t hash = (uint32_t)base_hash64(head + sum);

	slots_each (&b->slots, hash, number) {
		const struct cfi_rules *other = cfi_table_rules(b->table, number);

		if (head_of(other) == head && same_rules(other, of_register))
			return (int)number;
	}
	return 0;
}

/* Copies rules to a chunk that has room for them. Returns 0 or -ENOMEM. */
static int store(struct cfi_table *t, const struct cfi_rules *rules)
{
	uint32_t n = (uint32_t)words_of(rules), at = t->words;

	if (at % CFI_CHUNK_WORDS + n > CFI_CHUNK_WORDS)
		at += CFI_CHUNK_WORDS - at % CFI_CHUNK_WORDS;
	if (vec_reserve(&t->chunks, 1) < 0 || vec_push(&t->at, at) < 0)
		return base_oom();
	if (at / CFI_CHUNK_WORDS == t->chunks.n) {
		uint32_t *chunk = malloc(CFI_CHUNK_WORDS * sizeof(*chunk));

		if (!chunk) {
			t->at.n--;
			return base_oom();
		}
		t->chunks.at[t->chunks.n++] = chunk;
	}
	memcpy(&t->chunks.at[at / CFI_CHUNK_WORDS][at % CFI_CHUNK_WORDS], rules,
		n * sizeof(uint32_t));
	t->words = at + n;
	return 0;
}

int cfi_builder_rules(struct cfi_builder *b, const struct cfi_rules *rules)
{
	struct cfi_table *t = b->table;
	uint32_t hash = hash_of(rules);

	if (!t->at.n && vec_push(&t->at, 0) < 0)
		return base_oom();
	slots_each (&b->slots, hash, number) {
		const struct cfi_rules *other = cfi_table_rules(t, number);

		if (other->n == rules->n &&
			!memcmp(other, rules, words_of(rules) * sizeof(uint32_t)))
			return (int)number;
	}
	if (t->at.n > CFI_RULES_MAX)
		return 0;
	if (slots_make_room(&b->slots) < 0 || store(t, rules) < 0)
		return -ENOMEM;
	slots_put(&b->slots, (struct slot){hash, (uint32_t)t->at.n - 1});
	return (int)t->at.n - 1;
}

/* Most expressions of a binary are equal: the expressions of its PLT, or of signal frames. */
int cfi_builder_expression(struct cfi_builder *b, const uint8_t *bytes, size_t n)
{
	struct cfi_table *t = b->table;
	size_t first =
		t->expressions.n > SAME_EXPRESSIONS ? t->expressions.n - SAME_EXPRESSIONS : 0;

	if (!n || n > EXPRESSION_MAX)
		return -E2BIG;
	for (size_t i = first; i < t->expressions.n; i++)
		if (t->expressions.at[i].size == n &&
			!memcmp(t->bytes.at + t->expressions.at[i].offset, bytes, n))
			return (int)i;
	if (t->expressions.n >= EXPRESSIONS_MAX)
		return -E2BIG;
	if (vec_reserve(&t->bytes, n) < 0 ||
		vec_push(&t->expressions, (struct cfi_expression){.offset = (uint32_t)t->bytes.n,
						  .size = (uint32_t)n}) < 0)
		return base_oom();
	memcpy(t->bytes.at + t->bytes.n, bytes, n);
	t->bytes.n += n;
	return (int)t->expressions.n - 1;
}

/* ---- ranges ---- */

static int by_start(const void *a, const void *b)
{
	const struct cfi_function *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void sort_functions(struct cfi_builder *b)
{
	for (size_t i = 1; i < b->functions.n; i++)
		if (b->functions.at[i].start < b->functions.at[i - 1].start) {
			qsort(b->functions.at, b->functions.n, sizeof(*b->functions.at), by_start);
			return;
		}
}

/* Adds a range, or extends the previous one if it has the same rules. */
static void add_range(struct cfi_table *t, uint32_t start, uint16_t rules)
{
	if (t->n && t->rule_of[t->n - 1] == rules)
		return;
	if (t->n && t->starts[t->n - 1] == start) {
		t->rule_of[t->n - 1] = rules;
		return;
	}
	t->starts[t->n] = start;
	t->rule_of[t->n++] = rules;
}

/* The arrays were made for the largest number of ranges. */
static void shrink(struct cfi_table *t)
{
	uint32_t *starts = realloc(t->starts, t->n * sizeof(*starts) + 1);
	uint16_t *rule_of = realloc(t->rule_of, t->n * sizeof(*rule_of) + 1);

	t->starts = starts ?: t->starts;
	t->rule_of = rule_of ?: t->rule_of;
}

int cfi_builder_finish(struct cfi_builder *b)
{
	struct cfi_table *t = b->table;
	size_t max = b->rows.n + b->functions.n + 1;
	uint32_t *starts _cleanup_free_ = malloc(max * sizeof(*starts));
	uint16_t *rule_of _cleanup_free_ = malloc(max * sizeof(*rule_of));
	uint32_t end = 0;

	if (!starts || !rule_of)
		return base_oom();
	t->starts = TAKE_PTR(starts);
	t->rule_of = TAKE_PTR(rule_of);
	sort_functions(b);
	vec_each (&b->functions, f) {
		if (f->start < end) { /* two entries for the same code: the first one counts */
			t->skipped++;
			continue;
		}
		if (f->start > end)
			add_range(t, end, 0);
		for (uint32_t i = f->first; i < f->first + f->n; i++)
			add_range(t, b->rows.at[i].start, b->rows.at[i].rules);
		end = f->end;
	}
	add_range(t, end, 0);
	shrink(t);
	cfi_builder_done(b);
	return 0;
}

void cfi_builder_done(struct cfi_builder *b)
{
	vec_done(&b->functions);
	vec_done(&b->rows);
	slots_done(&b->slots);
}
