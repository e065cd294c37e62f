/* SPDX-License-Identifier: MIT */
/* Source lines and inlined functions of code of this file. */
#include <time.h>

#include "kperf_test.h"

enum { INNER = __LINE__ + 4 }; /* and the line after it */

static inline __attribute__((always_inline)) void inner(volatile unsigned long *work)
{
	for (int i = 0; i < 1000000; i++)
		*work += (unsigned long)i;
}

enum { OUTER = __LINE__ + 2, CALL = __LINE__ + 8 };

__attribute__((noinline)) static void outer(int ms)
{
	volatile unsigned long work = 0;
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		inner(&work);
}

static void is_at(const struct Symbol *symbol, const char *function, unsigned line, unsigned last)
{
	const char *file = strrchr(symbol->fileName, '/');

	assert_string_equal(symbol->symbolName, function);
	assert_string_equal(file ? file + 1 : symbol->fileName, "lines_test.c");
	assert_in_range(symbol->lineNum, line, last);
}

/* outer() begins there; of inlined functions it is unknown. */
static void begins(const struct Symbol *outer_symbol)
{
	assert_in_range(outer_symbol->firstLine, OUTER, OUTER + 1);
}

/* Samples of 300 ms in outer(). Returns their number. */
static int sampled(enum SymbolMode mode, struct PmuData **ret_data)
{
	struct test_attr test;
	int pd, n;

	test_sampling_attr(&test, mode);
	pd = test_open(SAMPLING, &test);
	assert_int_equal(GetWarn(), SUCCESS);
	PmuEnable(pd);
	outer(300);
	PmuDisable(pd);
	n = PmuRead(pd, ret_data);
	PmuClose(pd);
	assert_true(n > 50);
	return n;
}

/* The samples whose stack begins with inner() and its caller; each has its lines. */
static int with_lines(const struct PmuData *data, int n)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		const struct Stack *stack = data[i].stack;

		assert_non_null(stack);
		if (strcmp(stack->symbol->symbolName, "inner") != 0)
			continue; /* clock() */
		found++;
		is_at(stack->symbol, "inner", INNER, INNER + 1);
		assert_ptr_equal(stack->next->prev, stack);
		is_at(stack->next->symbol, "outer", CALL, CALL);
		begins(stack->next->symbol);
		assert_int_equal(stack->symbol->firstLine, 0);
		assert_int_equal(stack->next->symbol->addr, stack->symbol->addr);
		assert_string_equal(stack->next->next->symbol->symbolName, "sampled");
	}
	return found;
}

static void lines_of_samples(void **state)
{
	struct PmuData *data;
	int n = sampled(RESOLVE_ELF_DWARF, &data);

	assert_true(with_lines(data, n) > n * 9 / 10);
	PmuDataFree(data);
}

static void lines_after_the_read(void **state)
{
	struct PmuData *data;
	int n = sampled(RESOLVE_DELAY_DWARF, &data);

	assert_null(data[0].stack);
	assert_int_equal(ResolvePmuDataSymbol(data), SUCCESS);
	assert_true(with_lines(data, n) > n * 9 / 10);
	PmuDataFree(data);
}

static void names_without_lines(void **state)
{
	struct PmuData *data;
	int n = sampled(RESOLVE_ELF, &data), found = 0;

	for (int i = 0; i < n; i++) {
		assert_string_equal(data[i].stack->symbol->fileName, "Unknown");
		assert_int_equal(data[i].stack->symbol->lineNum, 0);
		found += strcmp(data[i].stack->symbol->symbolName, "outer") == 0;
	}
	assert_true(found > n * 9 / 10);
	PmuDataFree(data);
}

static void lines_of_addresses(void **state)
{
	unsigned long address = (unsigned long)outer, in_file;
	unsigned long ips[] = {address, (unsigned long)test_burn + 1};
	struct Symbol *symbol;
	struct Stack *stack;

	assert_int_equal(SymResolverRecordModuleNoDwarf(getpid()), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), address);
	assert_string_equal(symbol->fileName, "Unknown");
	assert_int_equal(symbol->firstLine, 0);
	FreeSymbolPtr(symbol);
	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), address);
	is_at(symbol, "outer", OUTER, OUTER + 1);
	begins(symbol);
	in_file = symbol->codeMapAddr;
	FreeSymbolPtr(symbol);
	symbol = SymResolverMapAddr(getpid(), address + 4);
	begins(symbol);
	FreeSymbolPtr(symbol);
	symbol = SymResolverMapCodeAddr("/proc/self/exe", in_file);
	is_at(symbol, "outer", OUTER, OUTER + 1);
	FreeSymbolPtr(symbol);
	stack = StackToHash(getpid(), ips, 2);
	is_at(stack->symbol, "outer", OUTER, OUTER + 1);
	assert_string_equal(stack->next->symbol->symbolName, "test_burn");
	assert_null(stack->next->next);
	assert_int_equal(SymResolverRecordDwarf("/proc/self/exe"), SUCCESS);
	SymResolverDestroy();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_samples),
		cmocka_unit_test(lines_after_the_read),
		cmocka_unit_test(names_without_lines),
		cmocka_unit_test(lines_of_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
