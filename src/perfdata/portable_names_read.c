/* SPDX-License-Identifier: MIT */
#include "perfdata/portable_names.h"

#include "perfdata/internal.h"

enum { KEY_BYTES = 88, RULES_BYTES = 8, RULE_VALUE_SHIFT = 9 };

struct decoder {
	struct cursor c;
	struct stored *stored;
	VEC(const char *) texts; /* by number; [0] is NULL */
};

/* Whether n elements of this size can follow. */
static bool has_room(struct decoder *d, uint64_t n, size_t element)
{
	if (n > cursor_left(&d->c) / element)
		d->c.failed = true;
	return !d->c.failed;
}

static const char *take_text(struct decoder *d)
{
	uint32_t number = cursor_u32(&d->c);

	if (number < d->texts.n)
		return d->texts.at[number];
	d->c.failed = true;
	return NULL;
}

static int read_texts(struct decoder *d)
{
	uint32_t n = cursor_u32(&d->c);
	uint64_t size = cursor_u64(&d->c);
	const char *bytes = cursor_bytes(&d->c, size);
	struct cursor c = cursor_of(bytes, bytes ? size : 0, false);

	if (!bytes || n > size) {
		d->c.failed = true;
		return 0;
	}
	if (vec_reserve(&d->texts, (size_t)n + 1) < 0)
		return base_oom();
	d->texts.at[d->texts.n++] = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const char *text = cursor_text(&c), *copy;

		if (!text) {
			d->c.failed = true;
			return 0;
		}
		copy = intern_text(&d->stored->texts, text);
		if (!copy)
			return base_oom();
		d->texts.at[d->texts.n++] = copy;
	}
	return 0;
}

static uint8_t read_build_id(struct decoder *d, uint8_t id[ELF_MAX_BUILD_ID])
{
	uint32_t size = cursor_u32(&d->c);
	const char *bytes = cursor_bytes(&d->c, ELF_MAX_BUILD_ID);

	if (!bytes || size > ELF_MAX_BUILD_ID) {
		d->c.failed = true;
		return 0;
	}
	memcpy(id, bytes, size);
	return (uint8_t)size;
}

/* ---- call frame information ---- */

/* Expressions and rules may get other numbers: equal ones are stored once. */
struct cfi_decoder {
	struct cfi_builder builder;
	VEC(uint32_t) expressions, rules; /* new number by that in the recording */
};

static int read_expressions(struct decoder *d, struct cfi_decoder *cfi)
{
	uint32_t n = cursor_u32(&d->c);

	for (uint32_t i = 0; i < n && !d->c.failed; i++) {
		uint32_t size = cursor_u32(&d->c);
		const char *bytes = cursor_bytes(&d->c, size);
		int number =
			bytes ? cfi_builder_expression(&cfi->builder, (const uint8_t *)bytes, size)
			      : -E2BIG;

		if (number == -ENOMEM)
			return number;
		d->c.failed |= number < 0;
		if (vec_push(&cfi->expressions, (uint32_t)MAX(number, 0)) < 0)
			return base_oom();
	}
	return 0;
}

/* The new number of an expression. */
static int32_t expression(struct decoder *d, const struct cfi_decoder *cfi, int32_t number)
{
	if (number >= 0 && (size_t)number < cfi->expressions.n)
		return (int32_t)cfi->expressions.at[number];
	d->c.failed = true;
	return 0;
}

static struct cfi_rule read_rule(struct decoder *d, const struct cfi_decoder *cfi)
{
	uint32_t word = cursor_u32(&d->c);
	unsigned how = word >> 6 & 7, reg = word & 63;
	int32_t value = (int32_t)word >> RULE_VALUE_SHIFT;

	if (reg >= CFI_REGISTERS || how > CFI_IS_EXPRESSION)
		d->c.failed = true;
	if (how == CFI_AT_EXPRESSION || how == CFI_IS_EXPRESSION)
		value = expression(d, cfi, value);
	return (struct cfi_rule){.reg = reg & 63, .how = how & 7, .value = value};
}

static int read_rules(struct decoder *d, struct cfi_decoder *cfi)
{
	union {
		struct cfi_rules rules;
		uint32_t words[RULES_BYTES / 4 + CFI_REGISTERS];
	} u = {0};
	uint32_t word = cursor_u32(&d->c);
	int number;

	u.rules.n = (uint8_t)word;
	u.rules.cfa_reg = (uint8_t)(word >> 8);
	u.rules.return_reg = (uint8_t)(word >> 16);
	u.rules.cfa_expression = word >> 24 & 1;
	u.rules.is_signal = word >> 25 & 1;
	u.rules.cfa_offset = (int32_t)cursor_u32(&d->c);
	if (u.rules.n > CFI_REGISTERS || u.rules.cfa_reg >= CFI_REGISTERS ||
		u.rules.return_reg >= CFI_REGISTERS)
		d->c.failed = true;
	if (u.rules.cfa_expression)
		u.rules.cfa_offset = expression(d, cfi, u.rules.cfa_offset);
	for (unsigned i = 0; i < u.rules.n && !d->c.failed; i++)
		u.rules.rules[i] = read_rule(d, cfi);
	if (d->c.failed)
		return 0;
	number = cfi_builder_rules(&cfi->builder, &u.rules);
	return number < 0 || vec_push(&cfi->rules, (uint32_t)number) < 0 ? -ENOMEM : 0;
}

static int read_all_rules(struct decoder *d, struct cfi_decoder *cfi)
{
	uint32_t n = cursor_u32(&d->c);
	int r = vec_push(&cfi->rules, 0);

	for (uint32_t i = 1; i < n && r == 0 && !d->c.failed; i++)
		r = read_rules(d, cfi);
	return r;
}

/* The ranges are one function, whose rows may be without rules. */
static int read_ranges(struct decoder *d, struct cfi_decoder *cfi)
{
	uint32_t n = cursor_u32(&d->c), before = 0;

	for (uint32_t i = 0; i < n && has_room(d, n - i, 8); i++) {
		uint32_t start = cursor_u32(&d->c), rules = cursor_u32(&d->c);
		struct cfi_row row = {.start = start};

		if (rules >= cfi->rules.n || start < before) {
			d->c.failed = true;
			return 0;
		}
		row.rules = (uint16_t)cfi->rules.at[rules];
		before = start;
		if (vec_push(&cfi->builder.rows, row) < 0)
			return base_oom();
	}
	if (d->c.failed || !n)
		return 0;
	return vec_push(&cfi->builder.functions,
		(struct cfi_function){
			.start = cfi->builder.rows.at[0].start, .end = before, .n = n});
}

static int read_cfi(struct decoder *d, struct cfi_table *table)
{
	struct cfi_decoder cfi = {.builder.table = table};
	int r;

	table->machine = (uint16_t)cursor_u32(&d->c);
	r = read_expressions(d, &cfi);
	if (r == 0)
		r = read_all_rules(d, &cfi);
	if (r == 0)
		r = read_ranges(d, &cfi);
	if (r == 0 && !d->c.failed && cfi.builder.rows.n)
		r = cfi_builder_finish(&cfi.builder);
	cfi_builder_done(&cfi.builder);
	vec_done(&cfi.expressions);
	vec_done(&cfi.rules);
	return r;
}

/* ---- modules ---- */

static int read_frames(struct decoder *d, struct stored_module *module, uint32_t n)
{
	if (!has_room(d, n, NAMES_FRAME_BYTES))
		return 0;
	if (vec_reserve(&module->frames, (size_t)n) < 0)
		return base_oom();
	for (uint32_t i = 0; i < n; i++) {
		struct debug_frame *frame = &module->frames.at[module->frames.n++];

		*frame = (struct debug_frame){.function = take_text(d)};
		frame->file = take_text(d);
		frame->line = cursor_u32(&d->c);
		frame->column = cursor_u32(&d->c);
		frame->inlined = cursor_u32(&d->c);
	}
	return 0;
}

static int read_places(struct decoder *d, struct stored_module *module, uint32_t n)
{
	if (!has_room(d, n, NAMES_PLACE_BYTES))
		return 0;
	if (vec_reserve(&module->places, (size_t)n) < 0)
		return base_oom();
	for (uint32_t i = 0; i < n; i++) {
		struct stored_place *place = &module->places.at[module->places.n++];

		*place = (struct stored_place){.offset = cursor_u64(&d->c)};
		place->start = cursor_u64(&d->c);
		place->size = cursor_u64(&d->c);
		place->into = cursor_u64(&d->c);
		place->name = take_text(d);
		place->dso = take_text(d);
		place->frame = cursor_u32(&d->c);
		place->n_frames = cursor_u32(&d->c);
		if (place->frame > module->frames.n ||
			place->n_frames > module->frames.n - place->frame)
			d->c.failed = true;
	}
	return 0;
}

static bool is_kind(uint32_t kind)
{
	return kind == ATTAR_DSO_IS_KERNEL || kind == ATTAR_DSO_IS_FILE ||
	       kind == ATTAR_DSO_IS_VDSO || kind == ATTAR_DSO_IS_JIT;
}

static struct stored_module *read_key(struct decoder *d)
{
	uint32_t kind = cursor_u32(&d->c);
	struct dso_key key = {.kind = kind, .owner = cursor_u32(&d->c)};
	pid_t pid = (pid_t)cursor_u32(&d->c);
	struct stored_module *module;
	const char *shown;

	key.generation = cursor_u32(&d->c);
	key.dev = cursor_u64(&d->c);
	key.ino = cursor_u64(&d->c);
	key.build_id_size = read_build_id(d, key.build_id);
	key.path = take_text(d) ?: "";
	shown = take_text(d);
	d->c.failed |= !is_kind(kind);
	module = stored_add(d->stored, &key);
	if (!module)
		return NULL;
	module->pid = pid;
	module->shown = shown;
	module->build_id_size = read_build_id(d, module->build_id);
	return module;
}

static int read_module(struct decoder *d)
{
	struct stored_module *module = has_room(d, 1, KEY_BYTES) ? read_key(d) : NULL;
	uint32_t places = cursor_u32(&d->c), frames = cursor_u32(&d->c);
	bool cfi = cursor_u32(&d->c);
	int r;

	if (d->c.failed)
		return 0;
	if (!module)
		return -ENOMEM;
	r = read_frames(d, module, frames);
	if (r == 0 && !d->c.failed)
		r = read_places(d, module, places);
	if (r == 0 && !d->c.failed && cfi)
		r = read_cfi(d, &module->cfi);
	module->has_cfi = cfi && !d->c.swap;
	return r;
}

static int decode(struct decoder *d)
{
	uint64_t magic = cursor_u64(&d->c);
	uint32_t version = cursor_u32(&d->c), modules;
	int r;

	if (magic != NAMES_MAGIC || version != NAMES_VERSION) {
		d->c.failed = true;
		return 0;
	}
	r = read_texts(d);
	if (r < 0 || d->c.failed)
		return r;
	modules = cursor_u32(&d->c);
	for (uint32_t i = 0; i < modules && r == 0 && !d->c.failed; i++)
		r = read_module(d);
	return r;
}

int portable_names_read(struct recording *r, struct stored **ret_stored)
{
	struct decoder d = {.c = cursor_of(r->names, r->names_len, r->facts.swapped)};
	int ret;

	if (!r->names || r->names_len == NAMES_RESERVED)
		return 0;
	d.stored = stored_new();
	ret = d.stored ? decode(&d) : -ENOMEM;
	vec_done(&d.texts);
	if (ret == 0 && d.c.failed)
		recording_damage(r, "its names of functions are malformed, or of another version");
	if (ret < 0 || d.c.failed) {
		stored_free(d.stored);
		return ret;
	}
	*ret_stored = d.stored;
	return 1;
}
