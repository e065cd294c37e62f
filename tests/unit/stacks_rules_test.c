/* SPDX-License-Identifier: MIT */
/* Rules of call frame information as the program in the kernel has them. */
#include "unit.h"

#include <string.h>

#include "bpf/stacks_rules.h"

enum { RBP = 6, RSP = 7, R10 = 10, RA = 16 };

/* A table with expressions, and rules that are built one after the other. */
struct made {
	struct cfi_table table;
	struct cfi_builder builder;
	union {
		struct cfi_rules rules;
		uint32_t words[2 + CFI_REGISTERS];
	} u;
};

static void begin(struct made *m, unsigned cfa_reg, int cfa_offset)
{
	m->builder.table = &m->table;
	memset(&m->u, 0, sizeof(m->u));
	m->u.rules.cfa_reg = (uint8_t)cfa_reg;
	m->u.rules.cfa_offset = cfa_offset;
	m->u.rules.return_reg = RA;
}

static void add(struct made *m, unsigned reg, enum cfi_how how, int value)
{
	struct cfi_rules *rules = &m->u.rules;

	rules->rules[rules->n++] = (struct cfi_rule){.reg = reg, .how = how, .value = value};
}

static int expression(struct made *m, const char *bytes, size_t n)
{
	int number = cfi_builder_expression(&m->builder, (const uint8_t *)bytes, n);

	assert_true(number >= 0);
	return number;
}

#define EXPRESSION(m, bytes) expression(m, bytes, sizeof(bytes) - 1)

static void done(struct made *m)
{
	cfi_builder_done(&m->builder);
	cfi_table_done(&m->table);
}

static void is_rule(struct made *m, struct stacks_rule expected)
{
	struct stacks_rule rule = stacks_rule_of(&m->table, &m->u.rules);

	assert_memory_equal(&rule, &expected, sizeof(rule));
}

static void test_common_rules(void **state)
{
	struct made m = {0};

	begin(&m, RSP, 48);
	add(&m, RBP, CFI_AT_CFA, -16);
	add(&m, 3, CFI_AT_CFA, -24);
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_REGISTER,
			    .cfa_register = RSP,
			    .cfa = 48,
			    .how_fp = STACKS_FP_AT_CFA,
			    .fp = -16,
			    .ra = -8});
	begin(&m, RBP, 16);
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m,
		(struct stacks_rule){
			.how_cfa = STACKS_CFA_REGISTER, .cfa_register = RBP, .cfa = 16, .ra = -8});
	add(&m, RBP, CFI_UNDEFINED, 0);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_REGISTER,
			    .cfa_register = RBP,
			    .cfa = 16,
			    .how_fp = STACKS_FP_UNKNOWN,
			    .ra = -8});
	done(&m);
}

static void test_a_thread_starts(void **state)
{
	struct made m = {0};

	begin(&m, RSP, 8);
	add(&m, RA, CFI_UNDEFINED, 0);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_END});
	done(&m);
}

/* A function that aligns its stack: the CFA is saved at rbp - 8, the caller's rbp at rbp. */
static void test_a_saved_cfa(void **state)
{
	struct made m = {0};

	begin(&m, 0, 0);
	m.u.rules.cfa_expression = true;
	m.u.rules.cfa_offset = EXPRESSION(&m, "\x76\x78\x06");
	add(&m, RBP, CFI_AT_EXPRESSION, EXPRESSION(&m, "\x76\0"));
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_AT,
			    .cfa_register = RBP,
			    .cfa = -8,
			    .how_fp = STACKS_FP_AT_FP,
			    .ra = -8});
	m.u.rules.rules[0].value = EXPRESSION(&m, "\x77\0");
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_AT,
			    .cfa_register = RBP,
			    .cfa = -8,
			    .how_fp = STACKS_FP_UNKNOWN,
			    .ra = -8});
	done(&m);
}

static const char plt[] = "\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22";

static void test_plt(void **state)
{
	struct made m = {0};

	begin(&m, 0, 0);
	m.u.rules.cfa_expression = true;
	m.u.rules.cfa_offset = EXPRESSION(&m, plt);
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_PLT, .cfa = 8, .ra = 11});
	done(&m);
}

/* Each byte of the expression matters, and so does its end. */
static void test_other_expressions(void **state)
{
	for (size_t i = 0; i < sizeof(plt); i++) {
		struct made m = {0};
		char bytes[sizeof(plt)];
		size_t n = sizeof(plt) - 1;

		memcpy(bytes, plt, sizeof(bytes));
		if (i < n)
			bytes[i] = 0x70;
		else
			n--;
		begin(&m, 0, 0);
		m.u.rules.cfa_expression = true;
		m.u.rules.cfa_offset = expression(&m, bytes, n);
		add(&m, RA, CFI_AT_CFA, -8);
		is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
		done(&m);
	}
}

/* As in the C library: __restore_rt. */
static void make_signal(struct made *m)
{
	begin(m, 0, 0);
	m->u.rules.is_signal = true;
	m->u.rules.cfa_expression = true;
	m->u.rules.cfa_offset = EXPRESSION(m, "\x77\xa0\x01\x06");
	add(m, RBP, CFI_AT_EXPRESSION, EXPRESSION(m, "\x77\xf8\0"));
	add(m, RSP, CFI_AT_EXPRESSION, EXPRESSION(m, "\x77\xa0\x01"));
	add(m, RA, CFI_AT_EXPRESSION, EXPRESSION(m, "\x77\xa8\x01"));
}

static void test_signal_frames(void **state)
{
	struct made m = {0};

	make_signal(&m);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_SIGNAL});
	for (int i = 0; i < 3; i++) {
		make_signal(&m);
		m.u.rules.rules[i].value = EXPRESSION(&m, "\x77\x10");
		is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	}
	make_signal(&m);
	m.u.rules.n = 2;
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	done(&m);
}

static void test_rules_that_the_program_lacks(void **state)
{
	struct made m = {0};

	begin(&m, RSP, 8); /* no return address */
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	add(&m, RA, CFI_REGISTER, 1);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	begin(&m, RSP, 8);
	add(&m, RSP, CFI_AT_CFA, -16);
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	begin(&m, RA, 8);
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	begin(&m, R10, 0);
	add(&m, RA, CFI_AT_CFA, -8);
	is_rule(&m, (struct stacks_rule){
			    .how_cfa = STACKS_CFA_REGISTER, .cfa_register = R10, .ra = -8});
	m.u.rules.return_reg = 17;
	is_rule(&m, (struct stacks_rule){.how_cfa = STACKS_CFA_OTHER});
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common_rules),
		cmocka_unit_test(test_a_thread_starts),
		cmocka_unit_test(test_a_saved_cfa),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_other_expressions),
		cmocka_unit_test(test_signal_frames),
		cmocka_unit_test(test_rules_that_the_program_lacks),
	};

	return cmocka_run_group_tests_name("stacks_rules", tests, NULL, NULL);
}
