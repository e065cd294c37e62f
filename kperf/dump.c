/* SPDX-License-Identifier: MIT */
/* Data as text. */
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "error.h"
#include "symbol.h"

static void dump_stack(FILE *out, const struct Stack *stack, bool with_lines)
{
	for (; stack && stack->symbol; stack = stack->next) {
		const struct Symbol *s = stack->symbol;

		fprintf(out, "\n%lx %s+0x%lx %s", s->addr, s->symbolName, s->offset,
			s->module ? s->module : "NULL");
		if (with_lines)
			fprintf(out, " %s:%u", s->fileName, s->lineNum);
	}
}

static void dump_row(FILE *out, const struct PmuData *row, bool with_lines)
{
	fprintf(out, "%s %d %d %d %llu %s %llu", row->comm ? row->comm : "NULL", row->pid, row->tid,
		row->cpu, (unsigned long long)row->period, row->evt ? row->evt : "NULL",
		(unsigned long long)row->count);
	dump_stack(out, row->stack, with_lines);
	fputc('\n', out);
}

int PmuDumpData(struct PmuData *rows, unsigned len, char *path, int with_lines)
{
	const struct kp_list *list;
	FILE *out;
	bool failed;

	kp_begin();
	if (!rows && len > 0)
		return kp_error(LIBPERF_ERR_INVALID_PMU_DATA, "PmuDumpData(): pmuData is NULL");
	list = rows ? kp_list_find(rows) : NULL; /* NULL: a part of an array */
	if (list && len > list->n)
		return kp_error(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuDumpData(): the data has %zu elements, fewer than len, which is %u",
			list->n, len);
	out = path ? fopen(path, "ae") : NULL;
	if (!out)
		return kp_error(LIBPERF_ERR_PATH_INACCESSIBLE, "PmuDumpData(): cannot open %s: %m",
			path ? path : "NULL");
	for (unsigned i = 0; i < len; i++)
		dump_row(out, &rows[i], with_lines);
	failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return kp_error(COMMON_ERR_WRITE, "PmuDumpData(): cannot write to %s: %m", path);
	return SUCCESS;
}
