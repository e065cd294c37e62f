/* SPDX-License-Identifier: MIT */
#include "bpf/stacks_rules.h"

#include "dwarf/cursor.h"

/* DWARF 5, section 7.7.1. */
enum { OP_DEREF = 0x06, OP_BREG0 = 0x70, OP_LIT0 = 0x30, OP_REGISTERS = 16 };

/* The registers that a signal handler returns to, in uc_mcontext of ucontext_t. */
enum { UCONTEXT_FP = 120, UCONTEXT_SP = 160, UCONTEXT_PC = 168 };

static struct cursor expression_of(const struct cfi_table *table, int32_t number)
{
	size_t n;
	const uint8_t *bytes = cfi_table_expression(table, (uint32_t)number, &n);

	return (struct cursor){.at = bytes, .end = bytes + n};
}

/* Takes "register + offset". */
static bool take_register(struct cursor *c, unsigned *ret_reg, int64_t *ret_offset)
{
	uint64_t op = cursor_number(c, 1);

	*ret_reg = (unsigned)(op - OP_BREG0);
	*ret_offset = cursor_sleb(c);
	return !c->failed && op >= OP_BREG0 && op < OP_BREG0 + OP_REGISTERS + 1 &&
	       *ret_offset == (int32_t)*ret_offset;
}

static bool is_at_end(const struct cursor *c)
{
	return !c->failed && c->at == c->end;
}

/* The whole expression is "register + offset". */
static bool is_register(
	const struct cfi_table *table, int32_t number, unsigned reg, int64_t *ret_offset)
{
	struct cursor c = expression_of(table, number);
	unsigned found;

	return take_register(&c, &found, ret_offset) && found == reg && is_at_end(&c);
}

/* sp + 8 + ((pc & 15) >= N) * 8 */
static bool is_plt(struct cursor c, struct stacks_rule *rule)
{
	const uint8_t before[] = {0x80, 0, 0x3f, 0x1a}, after[] = {0x2a, 0x33, 0x24, 0x22};
	const uint8_t *bytes;
	unsigned reg;
	int64_t offset;
	uint64_t literal;

	if (!take_register(&c, &reg, &offset) || reg != STACKS_SP || offset != 8)
		return false;
	bytes = cursor_take(&c, sizeof(before));
	if (c.failed || memcmp(bytes, before, sizeof(before)) != 0)
		return false;
	literal = cursor_number(&c, 1) - OP_LIT0;
	bytes = cursor_take(&c, sizeof(after));
	if (literal > 15 || c.failed || memcmp(bytes, after, sizeof(after)) != 0 || !is_at_end(&c))
		return false;
	*rule = (struct stacks_rule){
		.how_cfa = STACKS_CFA_PLT, .cfa = (int32_t)offset, .ra = (int32_t)literal};
	return true;
}

static const struct cfi_rule *find(const struct cfi_rules *rules, unsigned reg)
{
	for (unsigned i = 0; i < rules->n; i++)
		if (rules->rules[i].reg == reg)
			return &rules->rules[i];
	return NULL;
}

/* A register that is saved at an offset from sp. */
static bool is_at_sp(
	const struct cfi_table *table, const struct cfi_rules *rules, unsigned reg, int64_t offset)
{
	const struct cfi_rule *rule = find(rules, reg);
	int64_t found;

	return rule && rule->how == CFI_AT_EXPRESSION &&
	       is_register(table, rule->value, STACKS_SP, &found) && found == offset;
}

static bool is_signal(const struct cfi_table *table, const struct cfi_rules *rules)
{
	return is_at_sp(table, rules, STACKS_FP, UCONTEXT_FP) &&
	       is_at_sp(table, rules, STACKS_SP, UCONTEXT_SP) &&
	       is_at_sp(table, rules, rules->return_reg, UCONTEXT_PC);
}

static bool set_cfa(
	const struct cfi_table *table, const struct cfi_rules *rules, struct stacks_rule *rule)
{
	struct cursor c;
	unsigned reg;
	int64_t offset;

	if (!rules->cfa_expression) {
		*rule = (struct stacks_rule){.how_cfa = STACKS_CFA_REGISTER,
			.cfa = rules->cfa_offset,
			.cfa_register = rules->cfa_reg};
		return rules->cfa_reg < STACKS_PC;
	}
	c = expression_of(table, rules->cfa_offset);
	if (is_plt(c, rule))
		return true;
	if (!take_register(&c, &reg, &offset) || reg >= STACKS_PC ||
		cursor_number(&c, 1) != OP_DEREF || !is_at_end(&c))
		return false;
	*rule = (struct stacks_rule){
		.how_cfa = STACKS_CFA_AT, .cfa = (int32_t)offset, .cfa_register = (uint8_t)reg};
	return true;
}

static void set_fp(
	const struct cfi_table *table, const struct cfi_rules *rules, struct stacks_rule *rule)
{
	const struct cfi_rule *fp = find(rules, STACKS_FP);
	int64_t offset = 0;

	if (!fp || fp->how == CFI_SAME)
		rule->how_fp = STACKS_FP_SAME;
	else if (fp->how == CFI_AT_CFA)
		rule->how_fp = STACKS_FP_AT_CFA;
	else if (fp->how == CFI_AT_EXPRESSION && is_register(table, fp->value, STACKS_FP, &offset))
		rule->how_fp = STACKS_FP_AT_FP;
	else
		rule->how_fp = STACKS_FP_UNKNOWN;
	rule->fp = fp && fp->how == CFI_AT_CFA ? fp->value : (int32_t)offset;
}

struct stacks_rule stacks_rule_of(const struct cfi_table *table, const struct cfi_rules *rules)
{
	const struct cfi_rule *back = find(rules, rules->return_reg);
	const struct stacks_rule other = {.how_cfa = STACKS_CFA_OTHER};
	struct stacks_rule rule;

	if (rules->return_reg != STACKS_PC)
		return other;
	if (back && back->how == CFI_UNDEFINED)
		return (struct stacks_rule){.how_cfa = STACKS_CFA_END};
	if (rules->is_signal)
		return is_signal(table, rules) ? (struct stacks_rule){.how_cfa = STACKS_CFA_SIGNAL}
					       : other;
	if (!back || back->how != CFI_AT_CFA || find(rules, STACKS_SP) ||
		!set_cfa(table, rules, &rule))
		return other;
	set_fp(table, rules, &rule);
	if (rule.how_cfa != STACKS_CFA_PLT)
		rule.ra = back->value;
	else if (back->value != -8)
		return other;
	return rule;
}
