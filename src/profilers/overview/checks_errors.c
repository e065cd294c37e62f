/* SPDX-License-Identifier: MIT */
/* Findings about failing system calls: which call of which process, and with which error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "overview/file_systems.h"
#include "overview/findings.h"

enum {
	ERRORS = 1000,        /* a second, of all */
	SHORTAGES = 1,        /* a second, of one name */
	REFUSALS = 10,        /* a second, of one name */
	SEARCHES = 5000,      /* a second, of one process */
	SEARCH_S = 2,         /* for which it searches, at least */
	SAMPLE_PERIOD = 4999, /* of the samples in pauses */
	CALL_FINDINGS = 2,
};

/* What is used up, or broken: no program expects these errors. */
static const int shortages[] = {
	ENOSPC, EDQUOT, EMFILE, ENFILE, EIO, ENOMEM, EROFS, ENOBUFS, ESTALE};

/* The errors of connections that were refused. */
static const int refusals[] = {ECONNREFUSED, ECONNRESET, ECONNABORTED, EHOSTUNREACH, EPIPE};

static bool is_one_of(int64_t error, const int *errors, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (error == errors[i])
			return true;
	return false;
}

/* EAGAIN of these calls is no readiness of a file. */
static const struct {
	const char *call;
	double limit; /* a second */
	const char *meaning;
} unavailable[] = {
	{"clone", 1, "a limit of the number of processes or threads"},
	{"clone3", 1, "a limit of the number of processes or threads"},
	{"fork", 1, "a limit of the number of processes or threads"},
	{"vfork", 1, "a limit of the number of processes or threads"},
	{"fcntl", 2, "the file is locked"},
	{"flock", 2, "the file is locked"},
};

/* The index of the call, if the error means that; -1: it does not. */
static int unavailable_index(const struct overview_sums *sums, const struct overview_failure *key)
{
	const struct overview_name call = overview_call_name(sums, key->call);

	for (size_t i = 0; key->error == EAGAIN && i < sizeof(unavailable) / sizeof(*unavailable);
		i++)
		if (!strcmp(call.text, unavailable[i].call))
			return (int)i;
	return -1;
}

/* The failures of processes with one name. */
struct failing {
	const struct overview_failure *key; /* of one of them */
	uint64_t n;
	bool is_several;
	double excess, limit;
};

/* How many a second of one name are too many; 0: all failures are judged together. */
static double limit_of(const struct overview_sums *sums, const struct failing *failing)
{
	const struct overview_error error = {failing->key->call, failing->key->error};
	const int index = unavailable_index(sums, failing->key);

	if (index >= 0)
		return unavailable[index].limit;
	if (is_one_of(error.error, shortages, sizeof(shortages) / sizeof(*shortages)))
		return SHORTAGES;
	if (is_one_of(error.error, refusals, sizeof(refusals) / sizeof(*refusals)))
		return REFUSALS;
	/* a short process that searches directories is a healthy one, such as a compiler */
	if (overview_is_harmless(sums, &error) && !failing->is_several &&
		sums->elapsed >= SEARCH_S * UINT64_C(1000000000))
		return SEARCHES;
	return 0;
}

static const char *error_name(int64_t error)
{
	const char *name = strerrorname_np((int)error);

	return name ? name : "an unknown error";
}

/* What shows the paths or addresses of such calls. */
static const char *command_of(const char *call)
{
	if (!strncmp(call, "open", 4))
		return "opensnoop -x";
	if (strstr(call, "stat"))
		return "statsnoop -x";
	if (!strcmp(call, "connect"))
		return "tcpconnect";
	return "syscalls";
}

static int by_name(const void *a, const void *b)
{
	const struct failing *x = a, *y = b;
	int names = memcmp(x->key->comm, y->key->comm, THREAD_COMM_BYTES);

	if (x->key->call != y->key->call)
		return x->key->call < y->key->call ? -1 : 1;
	if (x->key->error != y->key->error)
		return x->key->error < y->key->error ? -1 : 1;
	return names;
}

/* All failures, added up by name. Returns the number of names; free *ret_all. */
static size_t read_failures(const struct overview_sums *sums, struct failing **ret_all)
{
	struct attar_keytable *table = sums->overview->failures;
	struct failing *all = calloc(attar_keytable_keys(table) + 1, sizeof(*all));
	struct attar_keyrow *row = NULL;
	size_t n = 0, names = 0;

	*ret_all = all;
	while (all && (row = attar_keytable_next(table, row))) {
		const uint64_t *of = attar_keyrow_sums(row, sums->scope)->sums;

		all[n] = (struct failing){row->key,
			of[FAILURE_SEEN] + SAMPLE_PERIOD * of[FAILURE_SAMPLES], false, 0, 0};
		n += all[n].n != 0;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_name);
	for (size_t i = 0; i < n; i++) {
		if (!names || by_name(&all[names - 1], &all[i]) != 0) {
			all[names++] = all[i];
			continue;
		}
		all[names - 1].n += all[i].n;
		all[names - 1].is_several = true;
	}
	return names;
}

static int by_excess(const void *a, const void *b)
{
	const struct failing *x = a, *y = b;

	return (x->excess < y->excess) - (x->excess > y->excess);
}

static void add_name(struct overview_finding *finding, const struct failing *failing)
{
	overview_say(finding, "%.*s", THREAD_COMM_BYTES, failing->key->comm);
	if (!failing->is_several)
		overview_say(finding, " (pid %lld)", (long long)failing->key->pid);
}

/* Which file system has no room, most probably: the call may name none. */
static void say_fullest(struct overview_finding *finding)
{
	enum { FULL = 95 /* percent */ };
	struct file_system fullest;

	if (!file_systems_fullest("/proc/self/mounts", &fullest))
		return;
	if (fullest.used >= FULL)
		overview_say(finding,
			"; the fullest file system is %s, %.0f %% of its space are used",
			fullest.path, fullest.used);
	else if (fullest.inodes_used >= FULL)
		overview_say(finding,
			"; the fullest file system is %s, %.0f %% of its inodes are used",
			fullest.path, fullest.inodes_used);
}

static void add_failing(struct overview_findings *findings, const struct failing *failing)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_name call = overview_call_name(sums, failing->key->call);
	struct overview_finding *finding =
		overview_add_rate(findings, "failing calls", failing->n, failing->limit);

	if (!finding)
		return;
	add_name(finding, failing);
	overview_say(finding, ": %s fails with %s (%s), %llu times", call.text,
		error_name(failing->key->error), strerror((int)failing->key->error),
		(unsigned long long)failing->n);
	if (unavailable_index(sums, failing->key) >= 0)
		overview_say(finding, ": %s",
			unavailable[unavailable_index(sums, failing->key)].meaning);
	if (failing->key->error == ENOSPC && attar_run_is_live(sums->run))
		say_fullest(finding);
	if (attar_run_is_live(sums->run))
		overview_set_process_command(findings, finding, command_of(call.text),
			failing->is_several ? 0 : (pid_t)failing->key->pid);
	else
		overview_set_command(findings, finding, NULL,
			&(struct overview_next){
				"syscalls", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"});
}

/* The findings of one name, the most excessive ones. Returns the number of findings. */
static size_t check_single_calls(struct overview_findings *findings, struct failing *all, size_t n)
{
	size_t before = findings->n;

	for (size_t i = 0; i < n; i++) {
		all[i].limit = limit_of(findings->sums, &all[i]);
		if (all[i].limit)
			all[i].excess =
				(double)all[i].n / overview_seconds(findings->sums) / all[i].limit;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_excess);
	for (size_t i = 0; i < n && i < CALL_FINDINGS && all[i].excess >= 1; i++)
		add_failing(findings, &all[i]);
	return findings->n - before;
}

/* The name that makes most of these failures; NULL: unknown. */
static const struct failing *top_of(
	const struct failing *all, size_t n, const struct overview_error *error)
{
	const struct failing *top = NULL;

	for (size_t i = 0; i < n; i++)
		if (all[i].key->call == error->call && all[i].key->error == error->error &&
			(!top || all[i].n > top->n))
			top = &all[i];
	return top;
}

/* All failing calls, without those that healthy programs make. */
static void check_all_calls(
	struct overview_findings *findings, const struct failing *names, size_t n_names)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_errors *most = NULL;
	const struct failing *top;
	struct overview_finding *finding;
	uint64_t all = 0, n = sums->counts[COUNT_ERRORS];

	for (size_t i = 0; i < sums->n_failures; i++) {
		if (overview_is_harmless(sums, &sums->errors[i].key)) {
			n -= sums->errors[i].n < n ? sums->errors[i].n : n;
			continue;
		}
		all += sums->errors[i].n;
		if (!most || sums->errors[i].n > most->n)
			most = &sums->errors[i];
	}
	finding = overview_add_rate(findings, "failing calls", n, ERRORS);
	if (!finding)
		return;
	overview_say(finding, "%llu system calls failed, except those that are usual",
		(unsigned long long)n);
	overview_set_command(findings, finding, NULL,
		&(struct overview_next){
			"syscalls", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"});
	if (!all)
		return;
	overview_say(finding, ", %.0f %% of them %s with %s", overview_percent(most->n, all),
		overview_call_name(sums, most->key.call).text, error_name(most->key.error));
	top = top_of(names, n_names, &most->key);
	if (!top)
		return;
	overview_say(finding, ", mostly in ");
	add_name(finding, top);
}

void overview_check_errors(struct overview_findings *findings)
{
	struct failing *names;
	size_t n = read_failures(findings->sums, &names);

	if (!check_single_calls(findings, names, n)) /* otherwise it says the same */
		check_all_calls(findings, names, n);
	free(names);
}
