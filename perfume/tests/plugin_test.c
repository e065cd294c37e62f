/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Events of a plug-in are registered by dlopen and removed by dlclose; the library is linked as in
 * programs.
 */
#include "perfume.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

PERFUME_EVENT(program_called)

static void *plugin;
static struct perfume_event *(*plugin_event)(void);
static int (*plugin_call)(uint32_t);

static void load(void)
{
	plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		fail_msg("%s", dlerror());
	plugin_event = (struct perfume_event * (*)(void))(uintptr_t)dlsym(plugin, "plugin_event");
	plugin_call = (int (*)(uint32_t))(uintptr_t)dlsym(plugin, "plugin_call");
}

static void events_exist_while_their_plugin_is_loaded(void **state)
{
	int i;

	for (i = 0; i < 100; i++) {
		load();
		assert_non_null(plugin_event()->file);
		assert_int_equal(plugin_event()->error, 0);
		assert_int_equal(plugin_call(1), 0);
		assert_int_equal(dlclose(plugin), 0);
		assert_null(dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_NOLOAD));
	}
	assert_int_equal(perfume_program_called(), 0);
	assert_int_equal(perfume_refresh(), 0);
}

/* A plug-in has its own file of the kernel, so that its events end with it. */
static void a_plugin_is_registered_separately(void **state)
{
	load();
	assert_ptr_not_equal(plugin_event()->file, perfume_event_program_called.file);
	dlclose(plugin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_exist_while_their_plugin_is_loaded),
		cmocka_unit_test(a_plugin_is_registered_separately),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
