/* SPDX-License-Identifier: MIT */
/* Values that instructions write: x86-64 code as an assembler makes it, and registers. */
#include "unit.h"

#include <string.h>

#include "profilers/lib/registers.h"
#include "profilers/lib/store_value.h"

#if defined(__x86_64__)

enum { AX, BX, CX, DX, SI, DI, BP, SP, IP, FLAGS, R8 = 16, R15 = 23, ZERO_FLAG = 64 };

static const uint64_t END = 0x401100, PLACE = 0x404040;

/* The value at PLACE after the code, with register `number` of this value. */
static bool run(const char *code, size_t n, unsigned number, uint64_t value, struct watched watched,
	uint64_t *ret_value)
{
	uint64_t values[24] = {0}, all[24] = {0};
	struct attar_regs regs = {.abi = 2, .mask = registers_all()};
	uint8_t bytes[STORE_BYTES];

	all[BX] = PLACE; /* the base of all operands here */
	all[number] = value;
	for (unsigned i = 0; i < 24; i++)
		if (regs.mask >> i & 1)
			values[regs.nr++] = all[i];
	regs.values = values;
	memset(bytes, 0x90, sizeof(bytes)); /* nop */
	memcpy(bytes + STORE_BYTES - n, code, n);
	return store_value(bytes, STORE_BYTES, END, &regs, &watched, ret_value);
}

#define CHECK(code_, number_, value_, len_, old_, expected_)                                       \
	do {                                                                                       \
		const struct watched watched_ = {                                                  \
			.address = PLACE, .len = (len_), .knows_old = true, .old = (old_)};        \
		uint64_t got_ = 0;                                                                 \
		assert_true(run(code_, sizeof(code_) - 1, number_, value_, watched_, &got_));      \
		assert_int_equal(got_, expected_);                                                 \
	} while (0)

static void test_moves(void **state)
{
	CHECK("\x89\x03", AX, 0x1122334455667788, 4, 0, 0x55667788); /* mov %eax,(%rbx) */
	CHECK("\x48\x89\x03", AX, 0x1122334455667788, 8, 0,
		0x1122334455667788);                                    /* mov %rax,(%rbx) */
	CHECK("\x66\x89\x0b", CX, 0x12345, 2, 0, 0x2345);               /* mov %cx,(%rbx) */
	CHECK("\x88\x23", AX, 0xab00, 1, 0, 0xab);                      /* mov %ah,(%rbx) */
	CHECK("\x40\x88\x33", SI, 0x1ff, 1, 0, 0xff);                   /* mov %sil,(%rbx) */
	CHECK("\x4c\x89\x3b", R15, 7, 8, 0, 7);                         /* mov %r15,(%rbx) */
	CHECK("\xc7\x03\x05\x00\x00\x00", AX, 0, 4, 0, 5);              /* movl $5,(%rbx) */
	CHECK("\x48\xc7\x03\xff\xff\xff\xff", AX, 0, 8, 0, UINT64_MAX); /* movq $-1,(%rbx) */
	CHECK("\x66\xc7\x03\x39\x05", AX, 0, 2, 0, 1337);               /* movw $1337,(%rbx) */
}

static void test_addresses(void **state)
{
	CHECK("\x89\x05\x40\x2f\x00\x00", AX, 9, 4, 0, 9);     /* mov %eax,0x2f40(%rip) */
	CHECK("\x89\x43\x00", AX, 9, 4, 0, 9);                 /* mov %eax,0(%rbx) */
	CHECK("\x89\x04\x8b", AX, 9, 4, 0, 9);                 /* mov %eax,(%rbx,%rcx,4) */
	CHECK("\x89\x04\x25\x40\x40\x40\x00", AX, 9, 4, 0, 9); /* mov %eax,0x404040 */
}

static void test_operations(void **state)
{
	CHECK("\x83\x03\x05", AX, 0, 4, 10, 15);                 /* addl $5,(%rbx) */
	CHECK("\x48\x83\x2b\x05", AX, 0, 8, 3, UINT64_MAX - 1);  /* subq $5,(%rbx) */
	CHECK("\x01\x03", AX, 7, 4, 0xffffffff, 6);              /* add %eax,(%rbx) */
	CHECK("\xff\x03", AX, 0, 4, 41, 42);                     /* incl (%rbx) */
	CHECK("\x66\xff\x0b", AX, 0, 2, 0, 0xffff);              /* decw (%rbx) */
	CHECK("\xf0\x48\xff\x03", AX, 0, 8, 1, 2);               /* lock incq (%rbx) */
	CHECK("\x80\x0b\x80", AX, 0, 1, 1, 0x81);                /* orb $0x80,(%rbx) */
	CHECK("\x81\x23\xf0\x00\x00\x00", AX, 0, 4, 0xff, 0xf0); /* andl $0xf0,(%rbx) */
	CHECK("\x31\x03", AX, 0xff, 4, 0x0f, 0xf0);              /* xor %eax,(%rbx) */
	CHECK("\xf7\x13", AX, 0, 4, 0, 0xffffffff);              /* notl (%rbx) */
	CHECK("\xf7\x1b", AX, 0, 4, 1, 0xffffffff);              /* negl (%rbx) */
}

static void test_compare_and_exchange(void **state)
{
	/* lock cmpxchg %ecx,(%rbx): with the zero flag it has written ecx */
	CHECK("\xf0\x0f\xb1\x0b", FLAGS, ZERO_FLAG, 4, 5, 0);
	CHECK("\xf0\x0f\xb1\x0b", CX, 9, 4, 5, 5);
}

static void test_parts(void **state)
{
	/* a byte of a watched word, and a word around a watched byte */
	CHECK("\x88\x03", AX, 0xab, 4, 0x11223344, 0x112233ab);
	CHECK("\x89\x43\xff", AX, 0x11223344, 1, 0, 0x33); /* mov %eax,-1(%rbx) */
}

/* What cannot be known is not invented. */
/* What the code does with the 4 bytes at PLACE, with BX as their address. */
static enum store_access access_of(const char *code, size_t n, bool reads)
{
	const struct watched watched = {.address = PLACE, .len = 4, .reads = reads};
	uint64_t values[24] = {0};
	struct attar_regs regs = {.abi = 2, .mask = registers_all(), .values = values, .nr = 20};
	uint8_t bytes[STORE_BYTES];

	values[BX] = PLACE;
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes + STORE_BYTES - n, code, n);
	return store_access(bytes, STORE_BYTES, END, &regs, &watched);
}

#define READS(code) assert_int_equal(access_of(code, sizeof(code) - 1, true), STORE_READS)

static void test_reads(void **state)
{
	READS("\x8b\x03");                     /* mov (%rbx),%eax */
	READS("\x48\x8b\x05\x40\x2f\x00\x00"); /* mov 0x2f40(%rip),%rax */
	READS("\x03\x03");                     /* add (%rbx),%eax */
	READS("\x39\x03");                     /* cmp %eax,(%rbx) */
	READS("\x83\x3b\x05");                 /* cmpl $5,(%rbx) */
	READS("\x85\x03");                     /* test %eax,(%rbx) */
	READS("\xf6\x03\x01");                 /* testb $1,(%rbx) */
	READS("\xf7\x03\x01\x00\x00\x00");     /* testl $1,(%rbx) */
	READS("\x0f\xb6\x03");                 /* movzbl (%rbx),%eax */
	READS("\x0f\xb7\x03");                 /* movzwl (%rbx),%eax */
	READS("\x48\x63\x03");                 /* movslq (%rbx),%rax */
	assert_int_equal(access_of("\x89\x03", 2, true), STORE_WRITES);
	assert_int_equal(access_of("\x01\x03", 2, true), STORE_WRITES);
	assert_int_equal(access_of("\x0f\x10\x03", 3, true), STORE_UNKNOWN); /* movups */
	assert_int_equal(access_of("\x8b\x03", 2, false), STORE_UNKNOWN); /* no hit: not this one */
}

static void test_unknown(void **state)
{
	const struct watched unknown = {.address = PLACE, .len = 4};
	const struct watched elsewhere = {.address = PLACE + 64, .len = 4};
	uint64_t value = 0;

	assert_false(run("\xff\x03", 2, AX, 0, unknown, &value));     /* incl: of what? */
	assert_false(run("\x0f\x11\x03", 3, AX, 0, unknown, &value)); /* movups */
	assert_false(run("\x89\x03", 2, AX, 0, elsewhere, &value));   /* another address */
	assert_false(run("\x89\xc3", 2, AX, 0, unknown, &value));     /* to a register */
	assert_true(run("\x89\x03", 2, AX, 5, unknown, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_operations),
		cmocka_unit_test(test_compare_and_exchange), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_reads), cmocka_unit_test(test_unknown)};

	return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}

#else

/* Other machines have other instructions. */
static void test_moves(void **state)
{
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves)};

	return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}

#endif
