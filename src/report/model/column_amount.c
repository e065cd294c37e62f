/* SPDX-License-Identifier: MIT */
#include "report/model/column_amount.h"

bool amount_is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* Whether one of the words of the name is this one: "max age". */
static bool has_word(const char *name, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
		if ((at == name || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

/* "tid", "next_pid"; of attar locks "holder" and "thread", of pgslow "blocked by" */
static bool is_task(const char *column)
{
	static const char *const tasks[] = {"blocked by", "holder", "thread", NULL};

	return strcasestr(column, "pid") || strcasestr(column, "tid") ||
	       amount_is_one_of(column, tasks);
}

enum column_role column_role_of(const char *column, enum attar_unit unit)
{
	/* Sizes and times by which rows are counted, such as requests of 4 KiB. */
	static const char *const by[] = {"size", "entries of", "from", NULL};
	static const char *const remarks[] = {"mostly", "in", NULL};

	switch (unit) {
	case ATTAR_UNIT_TEXT:
		return amount_is_one_of(column, remarks) ? COLUMN_REMARK : COLUMN_LABEL;
	case ATTAR_UNIT_ID:
		return is_task(column) ? COLUMN_TASK : COLUMN_LABEL;
	case ATTAR_UNIT_BYTES:
	case ATTAR_UNIT_NS:
		return amount_is_one_of(column, by) ? COLUMN_LABEL : COLUMN_AMOUNT;
	default:
		return COLUMN_AMOUNT;
	}
}

/* "p50", "p99 age" */
static bool is_quantile(const char *name)
{
	return name[0] == 'p' && name[1] >= '0' && name[1] <= '9';
}

enum amount_kind amount_kind_of(const char *column)
{
	static const char *const others[] = {"ratio", "IPC", "cycles per miss", "period", "age",
		"since", "offset", "to", "latency", "duration", "depth", "deviation", "counted",
		NULL};

	if (is_quantile(column) || amount_is_one_of(column, others) || has_word(column, "rate") ||
		has_word(column, "median") || has_word(column, "stddev"))
		return AMOUNT_OTHER;
	if (has_word(column, "min"))
		return AMOUNT_LEAST;
	if (has_word(column, "max") || has_word(column, "longest") || has_word(column, "oldest") ||
		has_word(column, "elapsed"))
		return AMOUNT_MOST;
	return has_word(column, "avg") || has_word(column, "mean") ? AMOUNT_MEAN : AMOUNT_SUM;
}
