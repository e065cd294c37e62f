/* SPDX-License-Identifier: MIT */
/* How long requests of block devices take, of the whole system. */
#include <string.h>

#include "block/kind.h"
#include "overview/overview.h"

enum { DEV, SECTOR, N_SECTORS, RWBS };

struct request_key {
	uint64_t dev, sector, kind;
};

static struct request_key request_key_of(const struct attar_event *ev)
{
	uint64_t sector = attar_arg_u64(ev, SECTOR);
	char type[12] = "";
	enum block_kind kind;
	size_t n;
	const char *text = attar_arg_text(ev, RWBS, &n);

	memcpy(type, text ? text : "", n < sizeof(type) ? n : sizeof(type) - 1);
	kind = block_kind_of(type, sector, attar_arg_u64(ev, N_SECTORS));
	return (struct request_key){attar_arg_u64(ev, DEV), kind == BLOCK_DATA ? sector : 0, kind};
}

static int on_issue(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct request_key key = request_key_of(ev);
	const struct attar_stamp at = attar_event_get_stamp(ev);

	(void)run;
	attar_pairs_start(((struct overview *)self)->requests, &key, sizeof(key), &at);
	return 0;
}

static int on_complete(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct request_key key = request_key_of(ev);
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct overview *o = self;
	const struct attar_start *start = attar_pairs_end(o->requests, &key, sizeof(key), &at);

	if (!start || !attar_run_is_cpu_selected(run, start->cpu))
		return 0;
	return overview_add_latency(o, LATENCY_BLOCK, at.time - start->time);
}

static const struct attar_input requests[] = {
	{.event = "block:block_rq_issue",
		.fields = {"dev", "sector", "?nr_sector", "?rwbs"},
		.on_event = on_issue,
		.optional = true},
	{.event = "block:block_rq_complete",
		.fields = {"dev", "sector", "?nr_sector", "?rwbs"},
		.on_event = on_complete,
		.optional = true},
	{0}};

int overview_open_requests(struct attar_run *run, struct overview *o)
{
	const struct attar_pairs_opts pairs = {
		.size = sizeof(pairs), .key_max = sizeof(struct request_key)};
	int r;

	attar_run_all_cpus(run, true);
	r = attar_run_inputs(run, requests);
	attar_run_all_cpus(run, false);
	return r == 0 ? attar_pairs_new(&pairs, &o->requests) : r;
}
