/* SPDX-License-Identifier: MIT */
/*
 * Filters evaluated by attar give the verdicts of the kernel: the kernel counts events with each
 * filter, and attar applies the filters to the records of an event without one, as filters and as
 * expressions.
 */
#include "live.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/event.h"
#include "base/base.h"
#include "expr/filter.h"

enum { PAGE = 4096, RING = 64 * PAGE, FILTERS_MAX = 64 };

struct watch {
	const struct attar_event_spec *spec;
	const char *const *filters;
	/* Expressions with the same meaning; NULL: the filters are the expressions */
	const char *const *same;
	struct filter *own[FILTERS_MAX];
	struct attar_expr *user[FILTERS_MAX]; /* NULL: not in the language of expressions */
	int counting[FILTERS_MAX];            /* by the kernel, with a filter */
	size_t n;
	int sampling; /* without one */
	struct perf_event_mmap_page *page;
};

static int open_event(const struct attar_event_spec *spec, const char *filter)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_RAW};
	int fd;

	assert_int_equal(attar_event_spec_attr(spec, &attr, sizeof(attr)), 0);
	attr.sample_period = !filter;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		live_skip("the kernel refuses the tracepoint");
	if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0)
		fail_msg("the kernel refuses '%s'", filter);
	return fd;
}

/* The filter as an expression. Backslashes and single quotes have another meaning in these. */
static void open_user(struct watch *w, size_t i)
{
	struct attar_expr_opts opts = {.size = sizeof(opts), .flags = ATTAR_EXPR_CONDITION};
	const char *text = w->same ? w->same[i] : w->filters[i];
	struct filter_choice choice;

	assert_int_equal(filter_choose(w->filters[i], w->spec->format, true, NULL, &choice), 0);
	if (!choice.in_kernel)
		fail_msg("'%s' does not run in the kernel: %s", w->filters[i], choice.why);
	filter_free(choice.keep);
	w->user[i] = NULL;
	if (!strpbrk(text, "\\'") && attar_expr_new(text, w->spec->format, &opts, &w->user[i]) < 0)
		fail_msg("%s", attar_error());
	if (!w->same)
		return;
	assert_int_equal(filter_choose(text, w->spec->format, true, NULL, &choice), 0);
	if (choice.in_kernel)
		fail_msg("'%s' runs in the kernel", text);
	filter_free(choice.keep);
}

static void open_watch(struct watch *w)
{
	w->sampling = open_event(w->spec, NULL);
	w->page = mmap(NULL, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED, w->sampling, 0);
	assert_true(w->page != MAP_FAILED);
	for (w->n = 0; w->filters[w->n]; w->n++) {
		const char *filter = w->filters[w->n];

		assert_true(w->n < FILTERS_MAX);
		w->counting[w->n] = open_event(w->spec, filter);
		if (filter_parse(filter, w->spec->format, &w->own[w->n]) < 0)
			fail_msg("%s", attar_error());
		open_user(w, w->n);
	}
}

static void close_watch(struct watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		filter_free(w->own[i]);
		attar_expr_free(w->user[i]);
		close(w->counting[i]);
	}
	munmap(w->page, PAGE + RING);
	close(w->sampling);
}

/*
 * Counts the records that a filter, or an expression, keeps. The ring has the records of all
 * actions so far.
 */
static uint64_t kept(const struct watch *w, const struct filter *filter, struct attar_expr *user,
	uint64_t *ret_records)
{
	struct attar_expr_record record;
	uint64_t n = 0;

	*ret_records = 0;
	for (uint64_t at = 0; at < w->page->data_head;) {
		const struct perf_event_header *h = (void *)((char *)w->page + PAGE + at);
		const uint32_t *size = (const uint32_t *)(h + 1);

		assert_int_equal(h->type, PERF_RECORD_SAMPLE);
		record = (struct attar_expr_record){.raw = size + 1, .raw_size = *size};
		n += user ? attar_expr_is_true(user, &record) : filter_keeps(filter, &record);
		at += h->size;
		++*ret_records;
	}
	return n;
}

/* Compares after each action, so that each record has its verdict. */
static void compare(const struct watch *w, const char *action)
{
	for (size_t i = 0; i < w->n; i++) {
		uint64_t own, kernel, records;

		assert_int_equal(read(w->counting[i], &kernel, sizeof(kernel)), sizeof(kernel));
		own = kept(w, w->own[i], NULL, &records);
		assert_true(records > 0);
		if (w->user[i])
			assert_int_equal(kept(w, NULL, w->user[i], &records), own);
		if (own != kernel)
			fail_msg("after '%s', '%s' keeps %llu of %llu events, but %llu in the "
				 "kernel",
				action, w->filters[i], (unsigned long long)own,
				(unsigned long long)records, (unsigned long long)kernel);
	}
}

static struct attar_catalog *catalog;

static struct attar_event_list *find(const char *event)
{
	struct attar_event_list *list = NULL;

	if (geteuid())
		live_skip("filters of tracepoints need root");
	if (attar_event_list_parse(catalog, event, &list) < 0)
		live_skip(attar_error());
	return list;
}

static const char *const names[] = {"abc", "abd", "xabc", "ab", "*", "[bc", "]x", "-", "a*", "^a",
	"caca", "abc", "fifteen letters"};

static void test_dynamic_strings(void **state)
{
	static const char *const filters[] = {"parent_comm == \"abc\"", "parent_comm != \"abc\"",
		"parent_comm == 'ab'", "parent_comm ~ \"abc\"", "parent_comm ~ \"a*\"",
		"parent_comm ~ \"*c\"", "parent_comm ~ \"*b*\"", "parent_comm ~ \"a*c\"",
		"parent_comm ~ \"a?c\"", "parent_comm ~ \"?\"", "parent_comm ~ \"[a-c]bc\"",
		"parent_comm ~ \"[!a]*\"", "parent_comm ~ \"[a^]*\"", "parent_comm ~ \"[bc\"",
		"parent_comm ~ \"[]x]*\"", "parent_comm ~ \"[a-]*\"", "parent_comm ~ \"\\*\"",
		"parent_comm ~ \"*a*c*\"", "parent_comm ~ \"*b?\"", "parent_comm ~ \"*\"",
		"parent_comm == \"abc\" || parent_pid < 0", NULL};
	struct attar_event_list *list = find("sched:sched_process_fork");
	struct watch w = {.spec = list->at, .filters = filters};
	const struct attar_field *field;

	assert_int_equal(attar_format_need(w.spec->format, "parent_comm", &field), 0);
	if (field->place == ATTAR_FIELD_FIXED)
		live_skip("this kernel records names of fixed size");
	open_watch(&w);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pid_t pid;

		prctl(PR_SET_NAME, names[i]);
		pid = fork();
		if (pid == 0)
			_exit(0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		compare(&w, names[i]);
	}
	close_watch(&w);
	attar_event_list_free(list);
}

/* Without patterns such as "*c": the kernel looks for the end of the array, not of its text. */
static void test_fixed_strings(void **state)
{
	static const char *const filters[] = {"newcomm == \"abc\"", "newcomm != \"abc\"",
		"newcomm ~ \"abc\"", "newcomm ~ \"a*\"", "newcomm ~ \"*b*\"", "newcomm ~ \"a*c\"",
		"newcomm ~ \"[!a]*\"", "oldcomm == \"abc\" && newcomm != \"abc\"",
		"!(newcomm == \"abc\")", "newcomm == \"abc\" || oldcomm == \"abc\" && pid < 0",
		"(newcomm == \"abc\" || oldcomm == \"abc\") && pid < 0", NULL};
	struct attar_event_list *list = find("task:task_rename");
	struct watch w = {.spec = list->at, .filters = filters};

	open_watch(&w);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		compare(&w, names[i]);
	}
	close_watch(&w);
	attar_event_list_free(list);
}

static void send(int code)
{
	if (code == SI_USER)
		kill(getpid(), SIGURG);
	else if (code == SI_TKILL)
		raise(SIGURG);
	else
		sigqueue(getpid(), SIGURG, (union sigval){0});
}

/*
 * The field "code" is negative for some senders: SI_QUEUE is -1, SI_TKILL -6. Constants outside its
 * type are left out: the kernel cuts them off.
 */
static void test_signed_numbers(void **state)
{
	static const char *const filters[] = {"code == -6", "code != -6", "code < 0", "code <= -6",
		"code > -6", "code >= -1", "code < 0x10", "code & 2", "code & 0x80000000",
		"code & 1 && code & 4", "!code == 0", "sig == 23 && code == -1",
		"code == 0 || code == -1 && pid < 0", NULL};
	static const int codes[] = {SI_USER, SI_TKILL, SI_QUEUE, SI_TKILL};
	struct attar_event_list *list = find("signal:signal_generate");
	struct watch w = {.spec = list->at, .filters = filters};

	signal(SIGURG, SIG_IGN);
	open_watch(&w);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		char name[32];

		send(codes[i]);
		snprintf(name, sizeof(name), "code %d", codes[i]);
		compare(&w, name);
	}
	close_watch(&w);
	attar_event_list_free(list);
}

/* Expressions that the kernel cannot evaluate yield what equivalent filters do there. */
static void test_expressions(void **state)
{
	static const char *const filters[] = {"code == -6", "code < 0", "code & 2", "sig == 23",
		"code != -1", "comm ~ \"s*\"", "code == 0 || code == -1", NULL};
	static const char *const same[] = {"code + 6 == 0", "code * 2 < code", "(code >> 1) & 1",
		"sig == sig && sig - 20 == 3", "-code != 1",
		"comm[0] == 115 && comm ~ \"s*\" ? 1 : 0", "!code || !(code + 1)", NULL};
	static const int codes[] = {SI_USER, SI_TKILL, SI_QUEUE, SI_TKILL};
	struct attar_event_list *list = find("signal:signal_generate");
	struct watch w = {.spec = list->at, .filters = filters, .same = same};

	signal(SIGURG, SIG_IGN);
	prctl(PR_SET_NAME, "sender");
	open_watch(&w);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		send(codes[i]);
		compare(&w, "a signal");
	}
	close_watch(&w);
	attar_event_list_free(list);
}

static void test_unsigned_numbers(void **state)
{
	static const char *const filters[] = {"length == 0x3000", "length != 12288", "length > 0",
		"length > 12287", "length >= 12289", "length < 12288", "length <= 0x3000",
		"length & 0x1000", "length & 4095", "addr > 0x7fffffffffffffff", "addr < 1",
		"length <= 0xffffffffffffffff", "!(length < 8192) && length & 0x5000", NULL};
	struct attar_event_list *list = find("mmap:vm_unmapped_area");
	struct watch w = {.spec = list->at, .filters = filters};

	open_watch(&w);
	for (size_t pages = 1; pages < 8; pages++) {
		char name[32];
		void *area =
			mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(area != MAP_FAILED);
		munmap(area, pages * PAGE);
		snprintf(name, sizeof(name), "%zu pages", pages);
		compare(&w, name);
	}
	close_watch(&w);
	attar_event_list_free(list);
}

static int setup(void **state)
{
	return attar_catalog_new(NULL, &catalog);
}

static int teardown(void **state)
{
	catalog = attar_catalog_free(catalog);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dynamic_strings),
		cmocka_unit_test(test_fixed_strings),
		cmocka_unit_test(test_signed_numbers),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_unsigned_numbers),
	};

	return cmocka_run_group_tests_name("filter", tests, setup, teardown);
}
