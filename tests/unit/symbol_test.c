/* SPDX-License-Identifier: MIT */
/* Names for addresses of this process, compared with those of the compiler and the loader. */
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <time.h>

#include "attar/symbol.h"
#include "base/base.h"

struct own {
	struct attar_symbols *symbols;
	struct attar_address_space *space;
};

static int start(void **state)
{
	struct own *own = calloc(1, sizeof(*own));

	assert_int_equal(attar_symbols_new(NULL, &own->symbols), 0);
	own->space = attar_address_space_new(own->symbols, getpid());
	assert_int_equal(attar_address_space_scan(own->space), 0);
	*state = own;
	return 0;
}

static int stop(void **state)
{
	struct own *own = *state;

	attar_address_space_free(own->space);
	attar_symbols_free(own->symbols);
	free(own);
	return 0;
}

static __attribute__((noinline)) int local_function(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 23;
}

static int resolve(struct own *own, const void *address, struct attar_symbol *ret_symbol)
{
	return attar_symbols_resolve(own->symbols,
		attar_address_space_locate(own->space, (uintptr_t)address), ret_symbol);
}

static void test_own_function(void **state)
{
	struct attar_symbol symbol;
	char exe[4096] = "";

	assert_int_equal(local_function(1), 24);
	assert_int_equal(resolve(*state, (char *)local_function + 1, &symbol), 0);
	assert_string_equal(symbol.name, "local_function");
	assert_int_equal(symbol.offset, 1);
	assert_true(symbol.size > 1);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(symbol.dso, exe);
	assert_int_equal(symbol.kind, ATTAR_DSO_IS_FILE);
}

static __attribute__((noinline)) int _ZN4unit6methodEi(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 29;
}

/* With the option, names are not demangled. */
static void test_mangled_names(void **state)
{
	const struct attar_symbols_opts opts = {.size = sizeof(opts), .mangled = true};
	struct attar_symbol symbol;
	struct own other;

	assert_int_equal(_ZN4unit6methodEi(1), 30);
	assert_int_equal(resolve(*state, (char *)_ZN4unit6methodEi, &symbol), 0);
	assert_string_equal(symbol.name, "unit::method");
	assert_string_equal(symbol.mangled, "_ZN4unit6methodEi");
	assert_int_equal(attar_symbols_new(&opts, &other.symbols), 0);
	other.space = attar_address_space_new(other.symbols, getpid());
	assert_int_equal(attar_address_space_scan(other.space), 0);
	assert_int_equal(resolve(&other, (char *)_ZN4unit6methodEi, &symbol), 0);
	assert_string_equal(symbol.name, "_ZN4unit6methodEi");
	assert_string_equal(symbol.mangled, "_ZN4unit6methodEi");
	attar_address_space_free(other.space);
	attar_symbols_free(other.symbols);
}

/* The loader and the table must return the same function: one address, with any of its aliases. */
static void test_agrees_with_dladdr(void **state)
{
	/* Functions that no sanitizer intercepts. */
	static const char *const names[] = {"tsearch", "fnmatch", "bsearch", "getopt_long",
		"openlog", "lfind", "rand_r", "hcreate", "l64a", "posix_spawn", "getsubopt",
		"regerror"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *address = dlsym(RTLD_DEFAULT, names[i]);
		struct attar_symbol symbol;
		Dl_info info;

		assert_non_null(address);
		assert_true(dladdr(address + 2, &info));
		assert_int_equal(resolve(*state, address + 2, &symbol), 0);
		assert_ptr_equal(dlsym(RTLD_DEFAULT, symbol.name), address);
		assert_int_equal(symbol.offset, 2);
		assert_ptr_equal(info.dli_saddr, address);
	}
}

static void test_vdso(void **state)
{
	struct attar_symbol symbol;
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	bool found = false;

	if (!image)
		skip();
	for (size_t at = 0; at < 8192 && !found; at += 16)
		found = resolve(*state, image + at, &symbol) == 0 &&
			strstr(symbol.name, "clock_gettime");
	assert_true(found);
	assert_string_equal(symbol.dso, "[vdso]");
	assert_int_equal(symbol.kind, ATTAR_DSO_IS_VDSO);
}

static void test_unmapped_address(void **state)
{
	struct own *own = *state;
	struct attar_symbol symbol;
	attar_location location = attar_address_space_locate(own->space, 0x10);

	assert_int_equal(attar_location_dso(location), ATTAR_DSO_UNKNOWN);
	assert_int_equal(attar_symbols_resolve(own->symbols, location, &symbol), -ENOENT);
	assert_string_equal(symbol.dso, "[unknown]");
	assert_int_equal(symbol.offset, 0x10);
	assert_null(symbol.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_function, start, stop),
		cmocka_unit_test_setup_teardown(test_mangled_names, start, stop),
		cmocka_unit_test_setup_teardown(test_agrees_with_dladdr, start, stop),
		cmocka_unit_test_setup_teardown(test_vdso, start, stop),
		cmocka_unit_test_setup_teardown(test_unmapped_address, start, stop),
	};

	return cmocka_run_group_tests_name("symbol", tests, NULL, NULL);
}
