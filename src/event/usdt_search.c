/* SPDX-License-Identifier: MIT */
#include "event/usdt_search.h"

#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/proc.h"
#include "base/scan_budget.h"
#include "event/usdt_files.h"
#include "event/user_event.h"

/* To create a probe, and to remove it, takes the kernel milliseconds. */
enum { FILES_MAX = 65536, FILE_SITES_MAX = 64, SITES_MAX = 512 };

/* For mappings and notes of processes that the caller has not named. */
static const struct scan_budget all_processes = {.user_ns = 100000000,
	.what = "files",
	.effect = "USDT probes in some of them are not used"};

struct search {
	const struct usdt_search *of;
	const char *link;     /* the file being looked at */
	bool only_trusted;    /* files of root and of this user */
	struct map shared;    /* processes with shared memory, to be skipped */
	struct map *unshared; /* output: processes that have the probe */
	struct map files;     /* inode and device of the searched ones -> 1 */
	struct scan_budget budget;
	pid_t pid; /* the process being looked at; 0: the budget does not apply */
	size_t n_files, n_sites;
	size_t in_file; /* sites of the file being looked at */
	int error; /* of the first site that could not be probed */
	char *sentence;
};

static int add_site(struct search *search, const struct usdt_site *site)
{
	struct attar_event_spec *spec;
	struct usdt *usdt;
	char *name = NULL;
	int r = usdt_new(search->of->catalog, search->link, site, &usdt);

	if (r < 0)
		return r;
	spec = malloc(sizeof(*spec));
	if (!spec || asprintf(&name, USER_EVENTS ":%s", site->event) < 0) {
		free(spec);
		usdt_free(usdt);
		return base_oom();
	}
	*spec = *search->of->spec;
	spec->type = PERF_TYPE_TRACEPOINT;
	spec->config = usdt_id(usdt);
	spec->name = name;
	spec->format = usdt_format(usdt);
	spec->transport = ATTAR_TRANSPORT_USDT;
	return search->of->add(search->of->ctx, usdt, spec);
}

/* A site that cannot be probed does not stop the search. */
static int look_at_site(void *ctx, const struct usdt_site *site)
{
	struct search *search = ctx;
	int r;

	if (strcmp(site->provider, USDT_PERFUME) != 0 ||
		fnmatch(search->of->spec->user_event, site->event, 0) != 0)
		return 0;
	if (search->n_sites >= SITES_MAX || search->in_file++ >= FILE_SITES_MAX)
		return 1;
	r = add_site(search, site);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && !search->error) {
		search->error = r;
		search->sentence = strdup(attar_error());
	}
	search->n_sites += r == 0;
	return 0;
}

/*
 * A probe changes the code of a file, and its counter the data, where the file says. Other users
 * can say what they like, so their files are probed on request only.
 */
static bool is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

static int look_at_file(void *ctx, const struct usdt_file *file)
{
	struct search *search = ctx;
	const struct stat *st = &file->st;
	uint64_t key = (uint64_t)st->st_ino * 31 + (uint64_t)st->st_dev * 0x9e3779b97f4a7c15;

	if (search->only_trusted && !is_trusted(st))
		return 0;
	if (map_get(&search->files, key) || search->files.n >= FILES_MAX)
		return 0;
	if (search->pid && !scan_budget_goes_on(&search->budget, search->pid))
		return 1;
	if (map_put(&search->files, key, 1) < 0)
		return base_oom();
	search->n_files++;
	search->link = file->link;
	search->in_file = 0;
	if (usdt_each(file->link, look_at_site, search) == -ENOMEM)
		return -ENOMEM;
	attar_error_clear();
	return 0;
}

static int look_at_process(struct search *search, pid_t pid)
{
	return usdt_each_file(pid, look_at_file, search);
}

/* One of all processes. */
static int look_at_any(struct search *search, pid_t pid)
{
	int r;

	if (!scan_budget_begin(&search->budget, pid))
		return 0;
	search->pid = pid;
	r = look_at_process(search, pid);
	scan_budget_end(&search->budget, pid);
	return MIN(r, 0);
}

static int search_other(void *ctx, pid_t pid)
{
	return pid == getpid() ? 0 : look_at_any(ctx, pid);
}

static int none_found(const struct search *search)
{
	const char *name = search->of->spec->user_event;

	if (search->error)
		return attar_fail(search->error, "%s", search->sentence);
	if (search->of->program)
		return attar_fail(-ENOENT,
			"%s has no USDT probe 'perfume:%s', and its libraries were not "
			"searched" ATTAR_FIX "to include them, start it first and watch it with -p",
			search->of->program, CLIP(name));
	return attar_fail(-ENOENT,
		"no watched program has the USDT probe 'perfume:%s' (%zu file%s searched)" ATTAR_FIX
		"start it first, or let attar start it: -- COMMAND",
		CLIP(name), search->n_files, PLURAL_S(search->n_files));
}

int usdt_search(const struct usdt_search *of)
{
	struct search search = {.of = of, .budget = all_processes};
	int r = 0;

	if (of->program)
		r = usdt_program_file(of->program, look_at_file, &search);
	else if (!of->n_pids)
		r = proc_each_process(search_other, &search);
	for (size_t i = 0; r == 0 && i < of->n_pids; i++)
		r = look_at_process(&search, of->pids[i]);
	r = r < 0 || search.n_sites ? MIN(r, 0) : none_found(&search);
	map_done(&search.files);
	free(search.sentence);
	return r;
}

/* ---- processes without shared memory ---- */

static int note_shared(void *ctx, const struct perfume_registered *event)
{
	return map_put(ctx, (uint64_t)event->source->pid, 1) < 0 ? base_oom() : 0;
}

static int look_at_unshared(void *ctx, pid_t pid)
{
	struct search *search = ctx;
	int r;

	if (pid == getpid() || map_get(&search->shared, (uint64_t)pid))
		return 0;
	/*
	 * Files are searched once: a probe found through another process applies to this one too.
	 */
	r = search->of->n_pids ? look_at_process(search, pid) : look_at_any(search, pid);
	if (r < 0 || !search->n_sites)
		return r;
	return map_put(search->unshared, (uint64_t)pid, 1) < 0 ? base_oom() : 0;
}

int usdt_search_unshared(const struct usdt_search *of, struct map *unshared)
{
	struct search search = {
		.of = of, .unshared = unshared, .only_trusted = true, .budget = all_processes};
	int r = userevent_each(of->pids, of->n_pids, note_shared, &search.shared);

	if (r == 0 && !of->n_pids)
		r = proc_each_process(look_at_unshared, &search);
	for (size_t i = 0; r == 0 && i < of->n_pids; i++)
		r = look_at_unshared(&search, of->pids[i]);
	map_done(&search.shared);
	map_done(&search.files);
	if (search.error)
		log_debug("cannot use a USDT probe for '%s': %s", of->spec->name, search.sentence);
	free(search.sentence);
	return r;
}
