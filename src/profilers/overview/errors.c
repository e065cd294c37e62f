/* SPDX-License-Identifier: MIT */
/* Failed system calls by call and error: those that were seen, and those that were only counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "overview/overview.h"

enum { SAMPLES_MIN = 100 /* whose shares are used */ };

const int overview_expected[EXPECTED_ERRORS] = {EAGAIN, EINTR, ETIMEDOUT, EINPROGRESS};

/* realpath(3) tries for each part of a path whether it is a link. */
static bool is_probing(const struct overview_sums *sums, const struct overview_error *key)
{
	return key->error == EINVAL &&
	       !strncmp(overview_call_name(sums, key->call).text, "readlink", strlen("readlink"));
}

/* How healthy programs look for files, and ask what something is: no finding. */
static const struct {
	int error;
	const char *calls; /* separated by spaces */
} harmless[] = {
	/* in directories of PATH, of includes, of libraries */
	{ENOENT, "open openat openat2 stat lstat newfstatat statx access faccessat faccessat2 "
		 "execve statfs readlink readlinkat"},
	{ENOTTY, "ioctl"}, /* isatty(3) */
	{ECHILD, "wait4"}, /* a shell after the last of its children */
};

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		if (length == n && !strncmp(at, word, n))
			return true;
		at += length;
	}
	return false;
}

bool overview_is_harmless(const struct overview_sums *sums, const struct overview_error *key)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (key->error == harmless[i].error &&
			has_word(harmless[i].calls, overview_call_name(sums, key->call).text))
			return true;
	return false;
}

static bool is_expected(const struct overview_sums *sums, const struct overview_error *key)
{
	for (size_t i = 0; i < EXPECTED_ERRORS; i++)
		if (key->error == overview_expected[i])
			return true;
	return is_probing(sums, key);
}

/* Those seen, and those that were only counted: unseen is divided as `by`, so that all add up. */
struct division {
	uint64_t seen, unseen;
	int by; /* ERROR_SAMPLES, or ERROR_SEEN if there are few samples */
	uint64_t all, passed, given;
};

static bool is_in(const struct overview_sums *sums, const struct attar_keyrow *row, bool expected)
{
	return is_expected(sums, row->key) == expected;
}

static struct division divide(const struct overview_sums *sums, bool expected)
{
	struct attar_keyrow *row = NULL;
	uint64_t all[ERROR_SUMS] = {0};
	struct division d = {0};

	while ((row = attar_keytable_next(sums->overview->errors, row)))
		for (int i = 0; i < ERROR_SUMS && is_in(sums, row, expected); i++)
			all[i] += attar_keyrow_sums(row, sums->scope)->sums[i];
	d.seen = all[ERROR_SEEN];
	d.by = all[ERROR_SAMPLES] >= SAMPLES_MIN || !d.seen ? ERROR_SAMPLES : ERROR_SEEN;
	d.all = all[d.by];
	return d;
}

/* What an error has of the unseen ones. */
static uint64_t share_of(struct division *d, const uint64_t *sums)
{
	uint64_t before = d->given;

	d->passed += sums[d->by];
	if (d->all)
		d->given = (uint64_t)((double)d->unseen * ((double)d->passed / (double)d->all));
	return d->given - before;
}

static void add_errors(struct overview_sums *sums, bool expected, struct division *d)
{
	struct attar_keyrow *row = NULL;

	while ((row = attar_keytable_next(sums->overview->errors, row))) {
		struct overview_errors *errors = &sums->errors[sums->n_errors];
		const uint64_t *of = attar_keyrow_sums(row, sums->scope)->sums;

		if (!is_in(sums, row, expected))
			continue;
		errors->key = *(const struct overview_error *)row->key;
		errors->estimated = share_of(d, of);
		errors->n = of[ERROR_SEEN] + errors->estimated;
		sums->n_errors++;
	}
	sums->unseen += d->unseen;
}

int overview_read_errors(struct overview_sums *sums)
{
	struct division failures = divide(sums, false), expected = divide(sums, true);
	uint64_t all = overview_counted(sums, COUNT_ERRORS, failures.seen + expected.seen);

	expected.unseen = overview_counted(sums, COUNT_EXPECTED, expected.seen) - expected.seen;
	all -= failures.seen + expected.seen; /* of unseen ones */
	failures.unseen = all > expected.unseen ? all - expected.unseen : 0;
	sums->errors =
		calloc(attar_keytable_keys(sums->overview->errors) + 1, sizeof(*sums->errors));
	if (!sums->errors)
		return -ENOMEM;
	add_errors(sums, false, &failures);
	sums->n_failures = sums->n_errors;
	add_errors(sums, true, &expected);
	sums->counts[COUNT_ERRORS] = failures.seen + failures.unseen;
	return 0;
}
