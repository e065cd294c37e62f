/* SPDX-License-Identifier: MIT */
/*
 * User events through USDT probes: for user_events:NAME/transport=usdt/, and automatically for
 * processes that have the probe but share no memory with attar. Each probe site in a file becomes a
 * source; its records are converted to the format of the user event before delivery.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/proc.h"
#include "event/usdt_files.h"
#include "event/user_event.h"
#include "run/run.h"

enum { FILES_MAX = 65536, SITES_MAX = 4096 };

struct search {
	struct attar_run *run;
	const struct attar_event_spec *spec; /* the requested event */
	attar_event_fn *fn;
	const char *path;   /* the file being looked at */
	bool only_unshared; /* only events of processes in run->user.unshared count */
	struct map shared;  /* processes with shared memory, to be skipped */
	struct map files;   /* inode and device of the searched ones -> 1 */
	size_t n_files, n_sites;
	int error; /* of the first site that could not be probed */
	char *sentence;
};

static int add_source(struct search *search, const struct usdt_site *site)
{
	struct attar_run *run = search->run;
	struct attar_event_spec *spec = NULL;
	struct perf_event_attr attr = {.sample_period = 1};
	struct filter *keep = NULL;
	struct usdt *usdt;
	char *name = NULL;
	int r = usdt_new(attar_run_catalog(run), search->path, site, &usdt);

	if (r < 0)
		return r;
	spec = malloc(sizeof(*spec));
	if (!spec || asprintf(&name, USER_EVENTS ":%s", site->event) < 0 ||
		vec_push(&run->user.usdt_specs, spec) < 0) {
		free(spec);
		free(name);
		usdt_free(usdt);
		return base_oom();
	}
	*spec = *search->spec;
	spec->type = PERF_TYPE_TRACEPOINT;
	spec->config = usdt_id(usdt);
	spec->name = name;
	spec->format = usdt_format(usdt);
	spec->transport = ATTAR_TRANSPORT_USDT;
	run_stack_attr(&run->opts, search->run->user.stacks, &attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	r = spec->filter ? filter_parse(spec->filter, spec->format, &keep) : 0;
	if (r == 0)
		r = run_add_spec(run, spec, &attr, search->fn);
	if (r < 0) {
		filter_free(keep);
		usdt_free(usdt);
		return r;
	}
	run->sources.list.at[run->sources.list.n - 1].keep = keep;
	run->sources.list.at[run->sources.list.n - 1].usdt = usdt;
	run->sources.list.at[run->sources.list.n - 1].only_unshared = search->only_unshared;
	return 0;
}

/* A site that cannot be probed does not stop the search. */
static int look_at_site(void *ctx, const struct usdt_site *site)
{
	struct search *search = ctx;
	int r;

	if (strcmp(site->provider, USDT_PERFUME) != 0 ||
		fnmatch(search->spec->user_event, site->event, 0) != 0)
		return 0;
	if (search->n_sites >= SITES_MAX)
		return 1;
	r = add_source(search, site);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && !search->error) {
		search->error = r;
		search->sentence = strdup(attar_error());
	}
	search->n_sites += r == 0;
	return 0;
}

static int look_at_file(void *ctx, const char *path)
{
	struct search *search = ctx;
	struct stat st;
	uint64_t key;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	key = (uint64_t)st.st_ino * 31 + (uint64_t)st.st_dev * 0x9e3779b97f4a7c15;
	if (map_get(&search->files, key) || search->files.n >= FILES_MAX)
		return 0;
	if (map_put(&search->files, key, 1) < 0)
		return base_oom();
	search->n_files++;
	search->path = path;
	if (usdt_each(path, look_at_site, search) == -ENOMEM)
		return -ENOMEM;
	attar_error_clear();
	return 0;
}

static int look_at_process(struct search *search, pid_t pid)
{
	return usdt_each_file(pid, look_at_file, search);
}

static int look_at_other(void *ctx, pid_t pid)
{
	return pid == getpid() ? 0 : look_at_process(ctx, pid);
}

static int look_at_command(struct search *search, const char *name)
{
	char *path = NULL;
	int r = usdt_program(name, &path);

	r = r < 0 ? 0 : look_at_file(search, path);
	free(path);
	return r;
}

static int none_found(const struct search *search)
{
	const char *name = search->spec->user_event;

	if (search->error)
		return attar_fail(search->error, "%s", search->sentence);
	if (search->run->command.argv)
		return attar_fail(-ENOENT,
			"%s has no USDT probe 'perfume:%s' (its libraries were not searched: to "
			"include them, start it first and watch it with -p)",
			search->run->command.argv[0], CLIP(name));
	return attar_fail(-ENOENT,
		"no watched program has the USDT probe 'perfume:%s' (%zu files searched): start it "
		"first, or let attar start it: -- COMMAND",
		CLIP(name), search->n_files);
}

static int search_asked(struct search *search)
{
	parse_ints pids = {0};
	struct attar_run *run = search->run;
	int r = run_list_processes(run, &pids);

	if (r == 0 && run->command.argv)
		r = look_at_command(search, run->command.argv[0]);
	if (r == 0 && !run->command.argv && !pids.n)
		r = proc_each_process(look_at_other, search);
	for (size_t i = 0; r == 0 && i < pids.n; i++)
		r = look_at_process(search, pids.at[i]);
	vec_done(&pids);
	return r < 0 || search->n_sites ? MIN(r, 0) : none_found(search);
}

int run_usdt_add(struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn)
{
	struct search search = {.run = run, .spec = spec, .fn = fn};
	int r = search_asked(&search);

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
	r = look_at_process(search, pid);
	if (r < 0 || !search->n_sites)
		return r;
	return map_put(&search->run->user.unshared, (uint64_t)pid, 1) < 0 ? base_oom() : 0;
}

int run_usdt_add_unshared(
	struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn)
{
	struct search search = {.run = run, .spec = spec, .fn = fn, .only_unshared = true};
	parse_ints pids = {0};
	int r = run_list_processes(run, &pids);

	if (r == 0)
		r = userevent_each(pids.at, pids.n, note_shared, &search.shared);
	if (r == 0 && !pids.n)
		r = proc_each_process(look_at_unshared, &search);
	for (size_t i = 0; r == 0 && i < pids.n; i++)
		r = look_at_unshared(&search, pids.at[i]);
	vec_done(&pids);
	map_done(&search.shared);
	map_done(&search.files);
	if (search.error)
		log_debug("cannot use a USDT probe for '%s': %s", spec->name, search.sentence);
	free(search.sentence);
	return r;
}

/* ---- delivering ---- */

bool run_usdt_convert(struct attar_run *run, struct source *s, struct attar_record *record)
{
	struct attar_sample *sample = &record->sample;
	size_t size = sample->raw ? sample->raw_size : 0;

	if (s->only_unshared && !map_get(&run->user.unshared, record->pid))
		return false;
	size = usdt_convert(s->usdt, sample->raw, size, &sample->raw);
	sample->raw_size = (uint32_t)size;
	return size > 0;
}
