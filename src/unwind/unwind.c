/* SPDX-License-Identifier: MIT */
#include "unwind/unwind.h"

#include "attar/private/unwind.h"
#include "base/check_arg.h"
#include "dwarf/cfi.h"
#include "dwarf/expression.h"
#include "symbol/address_space.h"
#include "symbol/symbols.h"
#include "unwind/registers.h"

enum {
	CACHE_BITS = 14,
	CODES_BITS = 13,
	CODES_MAX = 1 << (CODES_BITS - 1), /* half of the places of their numbers */
	CACHE_LINE = 64,                   /* bytes, of a CPU */
	SAVED_MAX = 16,                    /* registers: functions on arm64 save 12 */
	/* Most bytes between the frame of a signal handler and the code that it interrupted, on one
	 * stack: all registers, of which the registers of Arm's SME take 64 KiB. */
	SIGNAL_FRAME_MAX = 128 << 10,
};

/* A register that is saved this many words above the lowest one. */
struct saved {
	uint8_t reg, words;
};

/*
 * How the caller of code is found, in one cache line. Many locations have the same rules.
 *
 * The common rules are those that find all registers below the CFA, a register and an offset.
 */
struct code {
	const struct cfi_table *table;
	const struct cfi_rules *rules; /* NULL: no CFI */
	uint32_t known;                /* mask of the registers by common rules; 0: other rules */
	int32_t cfa_offset;
	uint8_t cfa_reg, return_reg;
	uint8_t n, below, words; /* n are saved in words, which begin so many below the CFA */
	bool by_cfi;             /* the caller is not found by the frame pointer */
	bool is_exact;           /* called by the kernel: the caller was interrupted */
	bool is_sigreturn : 1;   /* no CFI, called by the kernel's return from a signal handler */
	bool is_python : 1;      /* no CFI, calls a function of Python */
	struct saved saved[SAVED_MAX];
};
_Static_assert(sizeof(struct code) == CACHE_LINE, "the rules of code have a cache line");

/* A location of code. It is small: look-ups of rare locations wait for memory. */
struct cached {
	attar_location location;
	const struct code *code; /* NULL: free */
};

struct unwind_cache {
	struct attar_unwind_stats stats;
	struct unwind_sampled sampled;
	struct cached at[1 << CACHE_BITS];
	uint16_t numbers[1 << CODES_BITS]; /* of codes, from 1, by the rules; 0: free */
	uint16_t n_codes;
	struct code codes[CODES_MAX + 1]; /* one more: for the alignment */
};

struct unwinder {
	struct attar_address_space *space;
	struct unwind_cache *cache;
	const uint8_t *stack;
	uint64_t stack_start, stack_size;
	bool beyond;                      /* a read was beyond the copied part of the stack */
	const struct unwind_other *other; /* stack of interrupted code; NULL: none was copied */
	uint64_t elsewhere; /* the stack pointer of a frame on a stack that was not copied */
	uint64_t cfi_frames, fp_frames;
	struct unwind_frame frame;
};

/* ---- memory ---- */

static bool read_stack(void *ctx, uint64_t address, size_t size, uint64_t *ret_value)
{
	struct unwinder *u = ctx;
	uint64_t at = address - u->stack_start;

	if (at >= u->stack_size || size > u->stack_size - at) {
		u->beyond |= address >= u->stack_start;
		return false;
	}
	*ret_value = 0;
	memcpy(ret_value, u->stack + at, size);
	return true;
}

static inline bool read_word(struct unwinder *u, uint64_t address, uint64_t *ret_value)
{
	uint64_t at = address - u->stack_start;

	if (likely(u->stack_size >= 8 && at <= u->stack_size - 8)) {
		memcpy(ret_value, u->stack + at, 8);
		return true;
	}
	u->beyond |= address >= u->stack_start;
	return false;
}

/* ---- one frame by CFI ---- */

static bool evaluate(struct unwinder *u, const struct cfi_table *table, int32_t number,
	const uint64_t *first, uint64_t *ret_value)
{
	struct unwind_frame *f = &u->frame;
	struct expression_input input = {
		.registers = f->reg, .known = f->known, .read = read_stack, .ctx = u};
	const uint8_t *bytes;
	size_t n;

	if (f->machine->pc) {
		f->reg[f->machine->pc] = f->pc;
		input.known |= 1ULL << f->machine->pc;
	}
	bytes = cfi_table_expression(table, (uint32_t)number, &n);
	return expression_evaluate(bytes, n, first, &input, ret_value) == 0;
}

/* The value of a register in the caller. False: it is not known. */
static bool unwind_apply(struct unwinder *u, const struct cfi_table *table, struct cfi_rule rule,
	uint64_t cfa, uint64_t *ret_value)
{
	uint64_t address = cfa + (uint64_t)(int64_t)rule.value;

	switch ((enum cfi_how)rule.how) {
	case CFI_AT_CFA:
		/* Compilers do not declare that an epilogue has restored a register. */
		if (unlikely(address < u->stack_start)) {
			*ret_value = u->frame.reg[rule.reg];
			return u->frame.known >> rule.reg & 1;
		}
		return read_word(u, address, ret_value);
	case CFI_IS_CFA:
		*ret_value = cfa + (uint64_t)(int64_t)rule.value;
		return true;
	case CFI_REGISTER:
		if ((unsigned)rule.value >= CFI_REGISTERS || !(u->frame.known >> rule.value & 1))
			return false;
		*ret_value = u->frame.reg[rule.value];
		return true;
	case CFI_AT_EXPRESSION:
		return evaluate(u, table, rule.value, &cfa, &address) &&
		       read_word(u, address, ret_value);
	case CFI_IS_EXPRESSION:
		return evaluate(u, table, rule.value, &cfa, ret_value);
	default:
		return false;
	}
}

static bool cfa_of(struct unwinder *u, const struct cfi_table *table, const struct cfi_rules *rules,
	uint64_t *ret_cfa)
{
	if (rules->cfa_expression)
		return evaluate(u, table, rules->cfa_offset, NULL, ret_cfa);
	*ret_cfa = u->frame.reg[rules->cfa_reg] + (uint64_t)(int64_t)rules->cfa_offset;
	return u->frame.known >> rules->cfa_reg & 1;
}

/* Words below the CFA at which common rules find a register; 0: another rule. */
static unsigned words_below(struct cfi_rule rule, unsigned sp)
{
	int words = -rule.value / 8;

	return rule.how == CFI_AT_CFA && rule.reg != sp && rule.value % 8 == 0 && words > 0 &&
			       words <= UINT8_MAX
		       ? (unsigned)words
		       : 0;
}

/* Takes the rules over if they are the common ones. */
static void find_saved(struct code *code, unsigned sp)
{
	const struct cfi_rules *rules = code->rules;
	unsigned lowest = 0, highest = UINT8_MAX;
	uint32_t known = 0;

	code->known = 0;
	if (!rules || rules->cfa_expression || rules->is_signal || rules->n > SAVED_MAX)
		return;
	for (unsigned i = 0; i < rules->n; i++) {
		unsigned words = words_below(rules->rules[i], sp);

		if (!words)
			return;
		known |= 1U << rules->rules[i].reg;
		lowest = MAX(lowest, words);
		highest = MIN(highest, words);
	}
	if (!(known >> rules->return_reg & 1))
		return;
	for (unsigned i = 0; i < rules->n; i++)
		code->saved[i] = (struct saved){.reg = rules->rules[i].reg,
			.words = (uint8_t)(lowest - words_below(rules->rules[i], sp))};
	code->known = known | 1U << sp;
	code->cfa_reg = rules->cfa_reg;
	code->cfa_offset = rules->cfa_offset;
	code->return_reg = rules->return_reg;
	code->n = rules->n;
	code->below = (uint8_t)lowest;
	code->words = (uint8_t)(lowest - highest + 1);
}

/* Replaces the frame with its caller's if all that it needs was copied; otherwise false. */
static inline bool step_saved(struct unwinder *u, const struct code *code)
{
	const struct saved *saved = code->saved, *end = saved + code->n;
	struct unwind_frame *f = &u->frame;
	const uint8_t *lowest;
	uint64_t cfa, at;

	if (!code->known || !(f->known >> code->cfa_reg & 1))
		return false;
	cfa = f->reg[code->cfa_reg] + (uint64_t)(int64_t)code->cfa_offset;
	at = cfa - 8 * code->below - u->stack_start;
	if (at > u->stack_size || u->stack_size - at < 8 * code->words)
		return false;
	lowest = u->stack + at;
	for (; saved < end; saved++)
		memcpy(&f->reg[saved->reg], lowest + 8 * saved->words, 8);
	f->reg[f->machine->sp] = cfa;
	f->known |= code->known;
	f->pc = f->reg[code->return_reg] & f->machine->address_mask;
	return true;
}

/* Replaces the frame with the frame of its caller. Returns 0, or 1 and the reason why it cannot. */
static int step_cfi(struct unwinder *u, const struct cfi_table *table,
	const struct cfi_rules *rules, enum attar_unwind_end *ret_end)
{
	struct unwind_frame *f = &u->frame;
	uint64_t value[CFI_REGISTERS], known = f->known, changed = 0, cfa;

	*ret_end = ATTAR_UNWIND_LOST;
	if (!cfa_of(u, table, rules, &cfa))
		return 1;
	for (unsigned i = 0; i < rules->n; i++) {
		struct cfi_rule rule = rules->rules[i];
		uint64_t bit = 1ULL << rule.reg;

		changed |= bit;
		if (unwind_apply(u, table, rule, cfa, &value[i])) {
			known |= bit;
			continue;
		}
		known &= ~bit;
		if (rule.reg != rules->return_reg)
			continue;
		if (rule.how == CFI_UNDEFINED)
			*ret_end = ATTAR_UNWIND_COMPLETE;
		return 1;
	}
	for (unsigned i = 0; i < rules->n; i++)
		f->reg[rules->rules[i].reg] = value[i];
	f->known = known;
	if (!(changed >> f->machine->sp & 1)) {
		f->reg[f->machine->sp] = cfa;
		f->known |= 1ULL << f->machine->sp;
	}
	f->pc = f->reg[rules->return_reg] & f->machine->address_mask;
	if (!(f->known >> rules->return_reg & 1))
		return 1;
	if (f->pc || rules->is_signal)
		return 0;
	*ret_end = ATTAR_UNWIND_COMPLETE;
	return 1;
}

/* ---- one frame by the frame pointer ---- */

/* Both architectures save the caller's frame pointer and then the return address above it. */
static int step_fp(struct unwinder *u, enum attar_unwind_end *ret_end)
{
	struct unwind_frame *f = &u->frame;
	uint64_t fp = f->reg[f->machine->fp], next, pc;

	*ret_end = ATTAR_UNWIND_LOST;
	if (!(f->known >> f->machine->fp & 1) || fp % 8 || fp < f->reg[f->machine->sp])
		return 1;
	if (!read_word(u, fp, &next) || !read_word(u, fp + 8, &pc))
		return 1;
	pc &= f->machine->address_mask;
	if (!pc) {
		*ret_end = ATTAR_UNWIND_COMPLETE;
		return 1;
	}
	f->reg[f->machine->fp] = next;
	f->reg[f->machine->sp] = fp + 16;
	f->known = 1ULL << f->machine->fp | 1ULL << f->machine->sp;
	f->pc = pc;
	return 0;
}

/* ---- one frame by the registers that the kernel saved for a signal handler ---- */

static int step_signal(struct unwinder *u, enum attar_unwind_end *ret_end)
{
	struct unwind_frame *f = &u->frame;
	uint64_t saved = f->reg[f->machine->sp] + f->machine->signal_frame;

	*ret_end = ATTAR_UNWIND_LOST;
	for (unsigned i = 0; i <= f->machine->sp; i++)
		if (!read_word(u, saved + 8 * i, &f->reg[i]))
			return 1;
	f->known = (1ULL << (f->machine->sp + 1)) - 1;
	return !read_word(u, saved + 8 * (f->machine->sp + 1U), &f->pc);
}

/* ---- one frame by the layout of code that calls a function of Python ---- */

static int step_python(struct unwinder *u, enum attar_unwind_end *ret_end)
{
	struct unwind_frame *f = &u->frame;
	uint64_t sp = f->reg[f->machine->sp];

	if (f->reg[f->machine->fp] == sp) /* of a later version, which keeps a frame pointer */
		return step_fp(u, ret_end);
	*ret_end = ATTAR_UNWIND_LOST;
	if (!read_word(u, sp + f->machine->python_frame, &f->pc))
		return 1;
	f->reg[f->machine->sp] = sp + f->machine->python_frame + 8;
	return 0;
}

/* ---- one frame of a call of an address without code, as by a null pointer ---- */

static bool is_code(attar_location location)
{
	return attar_location_dso(location) != ATTAR_DSO_UNKNOWN;
}

/* Nothing was executed there, so the return address is where the call has put it. */
static bool step_bad_call(struct unwinder *u)
{
	struct unwind_frame *f = &u->frame;
	unsigned sp = f->machine->sp, link = f->machine->link;
	uint64_t pc = f->reg[link];

	if (link ? !(f->known >> link & 1) : !read_word(u, f->reg[sp], &pc))
		return false;
	pc &= f->machine->address_mask;
	if (!is_code(attar_address_space_locate(u->space, pc)))
		return false;
	f->pc = pc;
	f->reg[sp] += link ? 0 : 8;
	return true;
}

/* ---- a stack ---- */

/* The trampoline begins at the return address of the handler, one byte after the location. */
static bool is_sigreturn(struct unwinder *u, attar_location location)
{
	struct attar_symbol symbol;

	return u->frame.machine->signal_frame &&
	       attar_symbols_resolve(u->space->symbols, location + 1, &symbol) == 0 &&
	       !strcmp(symbol.name, "__kernel_rt_sigreturn");
}

/* Python describes it in its perf map: "py::NAME:FILE". */
static bool is_python(struct unwinder *u, attar_location location)
{
	struct attar_symbol symbol;
	enum attar_dso_kind kind;

	if (!u->frame.machine->python_frame)
		return false;
	(void)attar_symbols_dso(u->space->symbols, location, &kind);
	return kind == ATTAR_DSO_IS_JIT &&
	       attar_symbols_resolve(u->space->symbols, location, &symbol) == 0 &&
	       !strncmp(symbol.name, "py::", 4);
}

/* The first of the codes, of which each has a cache line. */
static struct code *codes_of(struct unwind_cache *cache)
{
	uintptr_t at = (uintptr_t)cache->codes;

	return (struct code *)((at + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
}

static void forget_codes(struct unwind_cache *cache)
{
	memset(cache->at, 0, sizeof(cache->at));
	memset(cache->numbers, 0, sizeof(cache->numbers));
	cache->n_codes = 0;
}

static bool is_same(const struct code *a, const struct code *b)
{
	return a->rules == b->rules && a->is_sigreturn == b->is_sigreturn &&
	       a->is_python == b->is_python;
}

/* The kept code with these rules. */
static const struct code *keep_code(struct unwinder *u, const struct code *code)
{
	struct unwind_cache *cache = u->cache;
	struct code *codes = codes_of(cache);
	size_t mask = ARRAY_SIZE(cache->numbers) - 1, i;

	if (cache->n_codes == CODES_MAX)
		forget_codes(cache);
	for (i = base_hash64((uintptr_t)code->rules) & mask; cache->numbers[i]; i = (i + 1) & mask)
		if (is_same(&codes[cache->numbers[i] - 1], code))
			return &codes[cache->numbers[i] - 1];
	codes[cache->n_codes] = *code;
	find_saved(&codes[cache->n_codes], u->frame.machine->sp);
	cache->numbers[i] = ++cache->n_codes;
	return &codes[cache->n_codes - 1];
}

static void find_code(struct unwinder *u, attar_location location, struct cached *ret_cached)
{
	struct cfi_table *table = symbols_cfi(u->space, location);
	const struct cfi_rules *rules = cfi_find(table, location & PLACE_OFFSET);
	struct code code = {.table = table, .rules = rules};

	code.is_sigreturn = !rules && is_sigreturn(u, location);
	code.is_python = !rules && is_python(u, location);
	code.by_cfi = rules || code.is_sigreturn || code.is_python;
	code.is_exact = rules ? rules->is_signal : code.is_sigreturn;
	ret_cached->code = keep_code(u, &code);
	ret_cached->location = location;
}

static const struct code *look_up(struct unwinder *u, attar_location location)
{
	struct cached *c = &u->cache->at[location * 0x9e3779b97f4a7c15ULL >> (64 - CACHE_BITS)];

	if (unlikely(c->location != location || !c->code))
		find_code(u, location, c);
	return c->code;
}

static int unwind_step(struct unwinder *u, const struct code *code, attar_location location,
	enum attar_unwind_end *ret_end)
{
	if (likely(step_saved(u, code))) {
		*ret_end = ATTAR_UNWIND_COMPLETE;
		return !u->frame.pc;
	}
	if (!is_code(location) && step_bad_call(u))
		return 0;
	if (code->rules)
		return step_cfi(u, code->table, code->rules, ret_end);
	if (code->is_sigreturn)
		return step_signal(u, ret_end);
	return code->is_python ? step_python(u, ret_end) : step_fp(u, ret_end);
}

/* A signal handler can have a stack of its own, see sigaltstack(2). */
static void leave_handler(struct unwinder *u, uint64_t handler_sp)
{
	uint64_t sp = u->frame.reg[u->frame.machine->sp];

	if (sp - u->stack_start < u->stack_size || sp - handler_sp <= SIGNAL_FRAME_MAX)
		return;
	if (u->other && u->other->sp == sp && u->other->size) {
		u->stack = u->other->bytes;
		u->stack_start = u->other->start;
		u->stack_size = u->other->size;
		return;
	}
	u->elsewhere = sp;
	u->stack_start = u->stack_size = 0;
}

static enum attar_unwind_end end_of(const struct unwinder *u, enum attar_unwind_end end)
{
	if (end != ATTAR_UNWIND_LOST)
		return end;
	return u->elsewhere ? ATTAR_UNWIND_OTHER_STACK
	       : u->beyond  ? ATTAR_UNWIND_TRUNCATED
			    : ATTAR_UNWIND_LOST;
}

static size_t walk(
	struct unwinder *u, attar_location *locations, size_t max, enum attar_unwind_end *ret_end)
{
	bool is_exact = true; /* pc is not a return address */
	uint64_t sp = u->stack_start;
	size_t n = 0;

	for (;;) {
		attar_location location = address_space_locate(u->space, u->frame.pc);
		const struct code *code;
		bool was_exact = is_exact;

		*ret_end = ATTAR_UNWIND_LOST;
		if (!was_exact && !is_code(location))
			return n;
		*ret_end = ATTAR_UNWIND_LIMIT;
		if (n == max)
			return n;
		if (!is_exact) /* in the call: the next instruction may be another function's */
			location--;
		locations[n++] = location;
		code = look_up(u, location);
		is_exact = code->is_exact;
		if (is_exact && !was_exact) /* a handler returns to it, but did not call it */
			locations[n - 1] = location + 1;
		u->beyond = false;
		if (unwind_step(u, code, location, ret_end)) {
			*ret_end = end_of(u, *ret_end);
			return n;
		}
		if (is_exact)
			leave_handler(u, sp);
		*(likely(code->by_cfi) ? &u->cfi_frames : &u->fp_frames) += 1;
		/* A caller is above, but for a leaf function and a signal on another stack. */
		if (u->frame.reg[u->frame.machine->sp] <= sp && !was_exact && !is_exact) {
			*ret_end = ATTAR_UNWIND_LOST;
			return n;
		}
		sp = u->frame.reg[u->frame.machine->sp];
	}
}

/* The cache, which is made if there is none; NULL if out of memory. */
static struct unwind_cache *cache_of(struct attar_symbols *symbols)
{
	if (unlikely(!symbols->unwind_cache)) {
		symbols->unwind_cache = calloc(1, sizeof(*symbols->unwind_cache));
		if (!symbols->unwind_cache)
			base_oom();
	}
	return symbols->unwind_cache;
}

size_t unwind_stacks(struct attar_address_space *space, const struct attar_unwind_input *input,
	const struct unwind_other *other, attar_location *locations, size_t max,
	enum attar_unwind_end *ret_end, uint64_t *ret_sp)
{
	struct unwind_cache *cache = cache_of(space->symbols);
	struct unwinder u;
	size_t n;

	*ret_end = ATTAR_UNWIND_LOST;
	if (!cache || !unwind_frame_init(&u.frame, &input->regs, &cache->sampled))
		return 0;
	if (!input->stack) {
		*ret_end = ATTAR_UNWIND_TRUNCATED;
		*ret_sp = 0;
		if (max)
			locations[0] = address_space_locate(space, u.frame.pc);
		return max > 0;
	}
	u.space = space;
	u.cache = cache;
	u.stack = input->stack;
	u.stack_start = u.frame.reg[u.frame.machine->sp];
	u.stack_size = input->stack_size;
	u.other = other;
	u.elsewhere = 0;
	u.cfi_frames = u.fp_frames = 0;
	n = walk(&u, locations, max, ret_end);
	cache->stats.stacks++;
	cache->stats.by_end[*ret_end]++;
	cache->stats.cfi_frames += u.cfi_frames;
	cache->stats.fp_frames += u.fp_frames;
	*ret_sp = u.elsewhere;
	return n;
}

size_t attar_unwind(struct attar_address_space *space, const struct attar_unwind_input *input,
	attar_location *locations, size_t max, enum attar_unwind_end *ret_end)
{
	CHECK_ARG_OR(space, "space", 0);
	CHECK_ARG_OR(input, "input", 0);
	CHECK_ARG_OR(locations, "locations", 0);

	enum attar_unwind_end end;
	uint64_t sp;

	return unwind_stacks(space, input, NULL, locations, max, ret_end ?: &end, &sp);
}

int attar_unwind_attr(struct perf_event_attr *attr, uint32_t stack_bytes)
{
	CHECK_ARG(attr, "attr");

	const struct unwind_machine *machine = unwind_machine_native();

	if (!machine)
		return attar_fail(-EOPNOTSUPP,
			"unwinding by call frame information is supported on x86-64 and arm64");
	if (stack_bytes % 8 || stack_bytes > ATTAR_UNWIND_STACK_MAX)
		return attar_fail(-EINVAL,
			"cannot copy %u bytes of the stack: the size must be a multiple of 8, at "
			"most %d",
			stack_bytes, ATTAR_UNWIND_STACK_MAX);
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = machine->sampled;
	attr->sample_stack_user = stack_bytes ? stack_bytes : ATTAR_UNWIND_STACK_DEFAULT;
	attr->exclude_callchain_user = true;
	return 0;
}

void unwind_get_stats(const struct attar_symbols *symbols, struct attar_unwind_stats *ret_stats)
{
	CHECK_ARG_OR(symbols, "symbols", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	*ret_stats = (struct attar_unwind_stats){0};
	if (symbols->unwind_cache)
		*ret_stats = symbols->unwind_cache->stats;
	vec_each (&symbols->dsos.at, dso) {
		ret_stats->cfi_binaries += (*dso)->cfi.n || (*dso)->cfi.frames;
		ret_stats->cfi_bytes += cfi_table_memory(&(*dso)->cfi);
	}
}
