/* SPDX-License-Identifier: MIT */
/*
 * Answers of a ClickHouse server to the queries of attar diff: the parts of the input, separated by
 * RS (0x1e), are the answers in the order of the queries. Every table exists. Reports are drawn.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sinks/clickhouse/clickhouse.h"
#include "report/sinks/clickhouse/input.h"

enum { SEPARATOR = 0x1e };

static const char *next;
static size_t left;

int __wrap_transport_new(const struct clickhouse_url *url, struct transport **ret_transport);
struct transport *__wrap_transport_free(struct transport *t);
void __wrap_transport_limit(struct transport *t, size_t bytes);
int __wrap_transport_query(struct transport *t, const char *query, struct buf *answer);

int __wrap_transport_new(const struct clickhouse_url *url, struct transport **ret_transport)
{
	*ret_transport = NULL;
	return 0;
}

struct transport *__wrap_transport_free(struct transport *t)
{
	return NULL;
}

void __wrap_transport_limit(struct transport *t, size_t bytes)
{
}

int __wrap_transport_query(struct transport *t, const char *query, struct buf *answer)
{
	const char *end;
	size_t n;

	buf_reset(answer);
	if (!strncmp(query, "EXISTS ", 7)) {
		buf_str(answer, "1\n");
		return 0;
	}
	end = left ? memchr(next, SEPARATOR, left) : NULL;
	n = end ? (size_t)(end - next) : left;
	buf_add(answer, next, n);
	next += n + (end != NULL);
	left -= n + (end != NULL);
	return buf_failed(answer) ? -ENOMEM : 0;
}

static int take(void *ctx, struct attar_report *report)
{
	struct attar_renderer *renderer;

	if (attar_renderer_new("json", ctx, NULL, &renderer) < 0 ||
		attar_renderer_draw(renderer, report) < 0)
		abort(); /* the accepted data are complete */
	attar_renderer_free(renderer);
	attar_report_free(report);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	char *copy = malloc(size + 1);

	null = null ?: fopen("/dev/null", "w");
	if (!copy || !null)
		abort();
	memcpy(copy, data, size);
	next = copy;
	left = size;
	clickhouse_read("clickhouse://localhost/x?from=2020-01-01", take, null);
	attar_error_clear();
	free(copy);
	return 0;
}
