/* SPDX-License-Identifier: MIT */
#include "block_requests.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SECTOR = 512, MINOR_BITS = 20, PATH_BYTES = 288 };

/* Open requests. */
struct key {
	uint64_t dev, sector;
};

/* The block of an open request. */
struct open_request {
	struct block_request request;
	uint64_t issued; /* ns; 0: not yet */
};

const char *block_stage_name(enum block_stage stage)
{
	static const char *const names[BLOCK_STAGES] = {"getrq", "insert", "issue", "complete"};

	return names[stage];
}

/* ---- devices ---- */

static unsigned major_of(uint32_t dev)
{
	return dev >> MINOR_BITS;
}

static unsigned minor_of(uint32_t dev)
{
	return dev & ((1u << MINOR_BITS) - 1);
}

static void sysfs_path(uint32_t dev, const char *file, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "/sys/dev/block/%u:%u%s", major_of(dev), minor_of(dev), file);
}

const char *block_name(uint32_t dev, char name[BLOCK_NAME_BYTES])
{
	char path[PATH_BYTES], link[PATH_BYTES];
	const char *last;
	ssize_t n;

	sysfs_path(dev, "", path);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	last = strrchr(link, '/');
	if (last && last[1])
		snprintf(name, BLOCK_NAME_BYTES, "%.*s", BLOCK_NAME_BYTES - 1, last + 1);
	else
		snprintf(name, BLOCK_NAME_BYTES, "%u:%u", major_of(dev), minor_of(dev));
	return name;
}

static int device_number(const char *name, uint32_t *ret_dev)
{
	char path[PATH_BYTES];
	unsigned major, minor;
	struct stat st;
	char rest;

	if (sscanf(name, "%u:%u%c", &major, &minor, &rest) == 2) {
		*ret_dev = major << MINOR_BITS | minor;
		return 0;
	}
	snprintf(path, sizeof(path), "%s%s", *name == '/' ? "" : "/dev/", name);
	if (stat(path, &st) < 0 && isdigit((unsigned char)*name))
		return attar_fail(-ENODEV,
			"--device: no block device '%s' (%s)" ATTAR_FIX
			"the option of a time is --duration",
			name, strerror(errno));
	if (stat(path, &st) < 0)
		return attar_fail(-ENODEV,
			"--device: no block device '%s' (%s)" ATTAR_FIX "'lsblk' lists the devices",
			name, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return attar_fail(-EINVAL,
			"--device: '%s' is not a block device" ATTAR_FIX
			"'lsblk' lists the devices",
			name);
	*ret_dev = major(st.st_rdev) << MINOR_BITS | minor(st.st_rdev);
	sysfs_path(*ret_dev, "/partition", path);
	if (access(path, F_OK) == 0)
		return attar_fail(-EINVAL,
			"--device: '%s' is a partition, but requests are counted for whole "
			"disks" ATTAR_FIX "name the disk",
			name);
	return 0;
}

static int parse_devices(struct block *block)
{
	for (const char *p = block->devices; p && *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		char name[256];
		int r;

		if (block->n_devs == sizeof(block->dev) / sizeof(*block->dev))
			return attar_fail(-E2BIG,
				"--device: at most %zu devices" ATTAR_FIX "leave it out for all",
				block->n_devs);
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		r = device_number(name, &block->dev[block->n_devs++]);
		if (r < 0)
			return r;
		p += n;
	}
	return 0;
}

/*
 * The disk of a bio's device, which may be a partition; the bio's sector is already that of the
 * disk when it has a request.
 */
static uint32_t disk_of(struct block *block, uint32_t dev)
{
	unsigned major, minor;
	char path[PATH_BYTES];
	uint32_t disk = dev;
	FILE *file;

	for (size_t i = 0; i < block->n_disks; i++)
		if (block->disks[i].part == dev)
			return block->disks[i].disk;
	sysfs_path(dev, "/partition", path);
	if (access(path, F_OK) == 0) {
		sysfs_path(dev, "/../dev", path);
		file = fopen(path, "re");
		if (file && fscanf(file, "%u:%u", &major, &minor) == 2)
			disk = major << MINOR_BITS | minor;
		if (file)
			fclose(file);
	}
	if (block->n_disks == sizeof(block->disks) / sizeof(*block->disks))
		block->n_disks = 0;
	block->disks[block->n_disks].part = dev;
	block->disks[block->n_disks++].disk = disk;
	return disk;
}

static bool is_device(const struct block *block, uint64_t dev)
{
	for (size_t i = 0; i < block->n_devs; i++)
		if (block->dev[i] == dev)
			return true;
	return !block->n_devs;
}

/* ---- requests ---- */

/* Fields of the events: those of bios have no bytes, the completion has no comm. */
enum { DEV, AT, N_SECTORS, RWBS, COMM, BYTES, ERROR };

static void copy_text(char *to, size_t max, const struct attar_event *ev, unsigned field)
{
	size_t n;
	const char *text = attar_arg_text(ev, field, &n);

	memset(to, 0, max);
	memcpy(to, text ? text : "", n < max ? n : max - 1);
}

static struct attar_stamp stamp_at(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

static void begin(struct attar_run *run, const struct attar_event *ev, const struct key *key,
	struct open_request *open)
{
	struct block_request *request = &open->request;

	*open = (struct open_request){0};
	request->dev = (uint32_t)key->dev;
	request->sector = key->sector;
	request->since = ev->time;
	request->tid = ev->thread ? ev->thread->tid : 0;
	request->is_selected = attar_run_is_selected(run, ev->thread) &&
			       attar_run_is_cpu_selected(run, (int)ev->cpu);
	copy_text(request->comm, sizeof(request->comm), ev, COMM);
}

static int pass(struct attar_run *run, struct block *block, const struct attar_event *ev,
	enum block_stage stage)
{
	const struct key key = {
		disk_of(block, (uint32_t)attar_arg_u64(ev, DEV)), attar_arg_u64(ev, AT)};
	const struct attar_stamp at = stamp_at(ev);
	struct attar_state *state = attar_states_get(block->states, &key, sizeof(key));
	struct open_request *open;
	uint64_t bytes = attar_arg_exists(ev, BYTES) ? attar_arg_u64(ev, BYTES)
						     : attar_arg_u64(ev, N_SECTORS) * SECTOR;
	bool is_new = stage == BLOCK_GETRQ || !state;

	if (!is_device(block, key.dev) || (!is_new && state->state == stage)) /* requeued */
		return 0;
	if (stage == BLOCK_GETRQ) /* what had this key has ended unseen */
		attar_states_set(block->states, &key, sizeof(key), ATTAR_NO_STATE, &at);
	state = attar_states_set(block->states, &key, sizeof(key), stage, &at);
	if (!state)
		return -ENOMEM;
	open = state->value;
	attar_state_set_group(block->states, state, "", 0); /* its table is not used */
	if (is_new)
		begin(run, ev, &key, open);
	else if (state->ended == ATTAR_NO_STATE)
		open->request.is_partial = true;
	block->is_selected = open->request.is_selected;
	open->request.bytes = (uint32_t)bytes;
	copy_text(open->request.type, sizeof(open->request.type), ev, RWBS);
	if (stage == BLOCK_ISSUE)
		open->issued = ev->time;
	if (is_new || state->ended == ATTAR_NO_STATE || !open->request.is_selected ||
		!block->passed)
		return 0;
	return block->passed(block, &open->request, state->ended, stage, state->duration);
}

static int on_getrq(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return pass(run, self, ev, BLOCK_GETRQ);
}

static int on_insert(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return pass(run, self, ev, BLOCK_INSERT);
}

static int on_issue(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return pass(run, self, ev, BLOCK_ISSUE);
}

/* The request is known by another sector from now on. Stage and times stay. */
static int move(struct block *block, const struct key *from, const struct key *to)
{
	struct attar_state *state = attar_states_get(block->states, from, sizeof(*from)), *moved;
	struct attar_stamp at;
	struct open_request open;
	uint32_t stage;

	if (!state)
		return 0;
	open = *(struct open_request *)state->value;
	stage = state->state;
	at = (struct attar_stamp){.time = state->since, .task = ATTAR_NO_TASK, .cpu = state->cpu};
	attar_states_exit(block->states, from, sizeof(*from), &at);
	moved = attar_states_set(block->states, to, sizeof(*to), stage, &at);
	if (!moved)
		return -ENOMEM;
	open.request.sector = to->sector;
	*(struct open_request *)moved->value = open;
	return 0;
}

/* A bio was put before a request, which thus begins with its sector. */
static int on_frontmerge(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	const struct key bio = {
		disk_of(block, (uint32_t)attar_arg_u64(ev, DEV)), attar_arg_u64(ev, AT)};
	const struct key request = {bio.dev, bio.sector + attar_arg_u64(ev, N_SECTORS)};

	(void)run;
	return is_device(block, bio.dev) ? move(block, &request, &bio) : 0;
}

/* A request was appended to another one. */
static int on_merge(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	const struct key key = {attar_arg_u64(ev, DEV), attar_arg_u64(ev, AT)};
	const struct attar_stamp at = stamp_at(ev);

	(void)run;
	attar_states_exit(block->states, &key, sizeof(key), &at);
	return 0;
}

static int end_request(struct attar_run *run, struct block *block, const struct attar_event *ev,
	const struct attar_state *state)
{
	struct open_request *open = state->value;
	struct block_request *request = &open->request;
	int r = 0;

	if (state->ended == ATTAR_NO_STATE)
		request->is_partial = true;
	block->is_selected = request->is_selected;
	if (!request->is_selected)
		return 0;
	request->error = (int)attar_arg_i64(ev, ERROR);
	if (block->passed && !request->is_partial)
		r = block->passed(block, request, state->ended, BLOCK_COMPLETE, state->duration);
	if (r < 0 || !block->completed)
		return r;
	return block->completed(run, block, ev, request, ev->time - request->since,
		open->issued ? ev->time - open->issued : 0);
}

static int on_complete(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	const struct key key = {attar_arg_u64(ev, DEV), attar_arg_u64(ev, AT)};
	const struct attar_stamp at = stamp_at(ev);
	uint64_t n = attar_arg_u64(ev, N_SECTORS);
	struct attar_state *state;
	struct open_request *open;
	int r;

	if (!is_device(block, key.dev))
		return 0;
	state = attar_states_get(block->states, &key, sizeof(key));
	if (!state) {
		block->unknown++;
		return 0;
	}
	open = state->value;
	if (open->issued && n * SECTOR < open->request.bytes && *open->request.type != 'D') {
		const struct key rest = {key.dev, key.sector + n}; /* a part has completed */

		open->request.bytes -= (uint32_t)(n * SECTOR);
		return move(block, &key, &rest);
	}
	state = attar_states_set(block->states, &key, sizeof(key), BLOCK_COMPLETE, &at);
	if (!state)
		return -ENOMEM;
	r = end_request(run, block, ev, state);
	attar_states_exit(block->states, &key, sizeof(key), &at);
	return r;
}

int block_on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;

	(void)run;
	attar_states_lost(block->states, -1, ev->lost_from, ev->lost_to);
	return 0;
}

void block_add_remarks(const struct block *block, struct attar_report *report)
{
	struct attar_states_stats stats;

	attar_states_get_stats(block->states, &stats);
	if (block->unknown)
		attar_report_remark(report,
			"completed requests whose start was missed, or before the measurement: "
			"%llu",
			(unsigned long long)block->unknown);
	attar_states_remarks(block->states, report, "stages of requests");
	if (stats.evicted)
		attar_report_remark(report,
			"open requests dropped because there were too many: %llu",
			(unsigned long long)stats.evicted);
}

/* ---- life ---- */

static const struct attar_input inputs[BLOCK_EVENTS] = {
	{.event = "block:block_getrq",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "comm"},
		.on_event = on_getrq,
		.optional = true},
	{.event = "block:block_rq_insert",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "comm", "?bytes"},
		.on_event = on_insert,
		.optional = true},
	{.event = "block:block_rq_issue",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "comm", "?bytes"},
		.on_event = on_issue},
	{.event = "block:block_bio_frontmerge",
		.fields = {"dev", "sector", "nr_sector"},
		.on_event = on_frontmerge,
		.optional = true},
	{.event = "block:block_rq_complete",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "?comm", "?bytes", "error|errors"},
		.on_event = on_complete},
	{.event = "block:block_rq_merge", /* Linux 5.11 */
		.fields = {"dev", "sector", "nr_sector"},
		.on_event = on_merge,
		.optional = true},
};

int block_emits(struct attar_run *run, struct block *block, const struct attar_event *ev)
{
	const char *name = attar_run_source_name(run, ev->counter);
	int r = 0;

	block->is_selected = attar_run_is_selected(run, ev->thread);
	for (size_t i = 0; r == 0 && i < BLOCK_EVENTS; i++)
		if (!strcmp(name, inputs[i].event))
			r = inputs[i].on_event(run, block, ev);
	if (r < 0)
		return r;
	return block->is_selected &&
	       is_device(block, disk_of(block, (uint32_t)attar_arg_u64(ev, DEV)));
}

/* With one device, the kernel drops the requests of others; a bio may be that of a partition. */
static int open_events(struct attar_run *run, struct block *block)
{
	for (size_t i = 0; i < BLOCK_EVENTS; i++) {
		block->inputs[i] = inputs[i];
		if (block->n_devs != 1 || strncmp(inputs[i].event, "block:block_rq_", 15))
			continue;
		snprintf(block->events[i], sizeof(block->events[i]), "%s/dev==%u/", inputs[i].event,
			block->dev[0]);
		block->inputs[i].event = block->events[i];
	}
	return attar_run_inputs(run, block->inputs);
}

int block_open(struct attar_run *run, struct block *block)
{
	const struct attar_states_opts opts = {.size = sizeof(opts),
		.states = BLOCK_STAGES,
		.value_size = sizeof(struct open_request),
		.key_max = sizeof(struct key),
		.group_max = 1};
	int r = parse_devices(block);

	if (r == 0)
		r = attar_run_select_tasks(run);
	if (r == 0)
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, true);
	if (r == 0)
		r = open_events(run, block);
	return r == 0 ? attar_states_new(&opts, &block->states) : r;
}

void block_close(struct block *block)
{
	attar_states_free(block->states);
}
