/* SPDX-License-Identifier: MIT */
#include "calls/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"

enum { FILTER_MAX = 24 /* calls in a filter of the kernel */ };

/* ---- names ---- */

static void name_call(struct calls_entry *entry, struct attar_expr *names, uint64_t number)
{
	const struct attar_expr_value variable = {.number = number};
	const struct attar_expr_record record = {.variables = &variable};
	struct attar_expr_value name;

	attar_expr_eval(names, &record, &name);
	snprintf(entry->name, sizeof(entry->name), "%.*s", (int)name.len,
		name.bytes ? (const char *)name.bytes : "");
	entry->signature = calls_find_signature(entry->name);
	entry->classes = entry->signature ? calls_classes_of(entry->signature) : 0;
	entry->is_wanted = true;
}

int calls_table_init(struct calls_table *table, struct attar_run *run)
{
	static const struct attar_expr_variable variable = {.name = "number"};
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .n_variables = 1, .variables = &variable};
	struct attar_expr *names;
	int r = attar_run_expr(run, 0, "syscall_name(number)", &opts, &names);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < CALLS_NUMBERS; i++)
		name_call(&table->at[i], names, i);
	attar_expr_free(names);
	table->statuses = CALLS_SUCCESSFUL | CALLS_FAILED | CALLS_UNFINISHED;
	return 0;
}

/* ---- -e ---- */

struct words {
	const char *at;
	size_t n;
};

static bool next_word(struct words *word)
{
	word->at += word->n;
	word->at += strspn(word->at, ",");
	word->n = strcspn(word->at, ",");
	return word->n > 0;
}

static bool is_word(const struct words *word, const char *text)
{
	return word->n == strlen(text) && !strncmp(word->at, text, word->n);
}

/* How many calls a word names, all of which get the value. */
static size_t select_word(struct calls_table *table, const struct words *word, bool is_wanted)
{
	bool is_class = *word->at == '%';
	unsigned class = is_class ? calls_find_class(word->at + 1, word->n - 1) : 0;
	char *pattern = strndup(word->at, word->n);
	size_t n = 0;

	for (size_t i = 0; pattern && i < CALLS_NUMBERS; i++) {
		struct calls_entry *entry = &table->at[i];

		if (is_class ? !(entry->classes & class) : fnmatch(pattern, entry->name, 0) != 0)
			continue;
		entry->is_wanted = is_wanted;
		n++;
	}
	free(pattern);
	return n;
}

static int fail_word(const struct words *word)
{
	return attar_fail(-EINVAL, "-e: there is no system call '%.*s'" ATTAR_FIX "%s",
		(int)word->n, word->at,
		*word->at == '%'
			? "use %file, %desc, %net, %process, %memory, %signal, %ipc, %creds or "
			  "%clock"
			: "use names such as openat, with * and ?, or classes such as %file");
}

/* The first list of calls replaces all of them; further ones add to it. */
static int select_calls(struct calls_table *table, const char *list)
{
	struct words word = {.at = list};
	bool excludes = *list == '!';

	word.at += excludes;
	if (is_word(&(struct words){word.at, strlen(word.at)}, "all"))
		word.at = "*";
	if (!strcmp(word.at, "none"))
		word.at = "";
	for (size_t i = 0; !table->selects && i < CALLS_NUMBERS; i++)
		table->at[i].is_wanted = excludes;
	table->selects = true;
	while (next_word(&word)) {
		bool is_optional = *word.at == '?';

		word.at += is_optional;
		word.n -= is_optional;
		if (word.n && !select_word(table, &word, !excludes) && !is_optional)
			return fail_word(&word);
	}
	return 0;
}

static int select_statuses(struct calls_table *table, const char *list)
{
	static const struct {
		const char *name;
		unsigned bit;
	} all[] = {{"successful", CALLS_SUCCESSFUL}, {"failed", CALLS_FAILED},
		{"unfinished", CALLS_UNFINISHED},
		{"all", CALLS_SUCCESSFUL | CALLS_FAILED | CALLS_UNFINISHED}};
	bool excludes = *list == '!';
	struct words word = {.at = list + excludes};
	unsigned bits = 0;

	while (next_word(&word)) {
		unsigned bit = 0;

		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (is_word(&word, all[i].name))
				bit = all[i].bit;
		if (!bit)
			return attar_fail(-EINVAL,
				"-e status=: there is no status '%.*s'" ATTAR_FIX
				"use successful, failed or unfinished",
				(int)word.n, word.at);
		bits |= bit;
	}
	table->statuses &= excludes ? ~bits : bits;
	return 0;
}

int calls_table_select(struct calls_table *table, const struct attar_texts *texts)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->n; i++) {
		const char *text = texts->at[i], *value = strchr(text, '=');
		size_t n = value ? (size_t)(value - text) : 0;
		const struct words word = {text, n};

		if (!value || is_word(&word, "trace") || is_word(&word, "t"))
			r = select_calls(table, value ? value + 1 : text);
		else if (is_word(&word, "status"))
			r = select_statuses(table, value + 1);
		else
			r = attar_fail(-EINVAL,
				"-e %.*s=: only trace= and status= are supported" ATTAR_FIX
				"use -e trace=openat,%%net or -e status=failed",
				(int)n, text);
	}
	return r;
}

bool calls_table_filter(const struct calls_table *table, char *filter, size_t max)
{
	size_t n = 0, len = 0;

	for (size_t i = 0; i < CALLS_NUMBERS; i++)
		n += table->at[i].is_wanted;
	if (!table->selects || !n || n > FILTER_MAX)
		return false;
	for (size_t i = 0; i < CALLS_NUMBERS && len < max; i++)
		if (table->at[i].is_wanted)
			len += (size_t)snprintf(
				filter + len, max - len, "%sid==%zu", len ? "||" : "", i);
	return len < max;
}
