/* SPDX-License-Identifier: MIT */
#include "event/catalog.h"

#include "attar/private/event.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "event/kernel_types.h"
#include "event/pmu.h"

int attar_catalog_new(const struct attar_catalog_opts *opts, struct attar_catalog **ret_catalog)
{
	CHECK_ARG(ret_catalog, "ret_catalog");

	struct attar_catalog_opts o = {0};
	struct attar_catalog *c;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return base_oom();
	r = tracefs_init(
		&c->tracefs, o.sysfs ? o.sysfs : "/sys", o.proc ? o.proc : "/proc", o.tracefs);
	c->process = c->tracefs.process = check_process;
	c->tracefs.mount = o.mount;
	c->stop = o.stop;
	c->inherited = o.inherited;
	c->profilers = o.profilers;
	if (r == 0 && ((o.program && !(c->program = strdup(o.program))) ||
			      (o.pids && !(c->pids = strdup(o.pids)))))
		r = base_oom();
	if (r < 0) {
		attar_catalog_free(c);
		return r;
	}
	*ret_catalog = c;
	return 0;
}

struct attar_catalog *attar_catalog_free(struct attar_catalog *catalog)
{
	if (!catalog)
		return NULL;
	tracefs_done(&catalog->tracefs);
	vec_each (&catalog->pmus, pmu)
		pmu_free(*pmu);
	vec_done(&catalog->pmus);
	kernel_types_free(catalog->types);
	free(catalog->program);
	free(catalog->pids);
	free(catalog);
	return NULL;
}

int attar_catalog_tracefs(struct attar_catalog *catalog, const char **ret_path)
{
	CHECK_ARG(catalog, "catalog");
	CHECK_ARG(ret_path, "ret_path");
	return tracefs_path(&catalog->tracefs, ret_path);
}

int attar_catalog_format(struct attar_catalog *catalog, const char *system, const char *name,
	const struct attar_format **ret_format)
{
	CHECK_ARG(catalog, "catalog");
	CHECK_ARG(system, "system");
	CHECK_ARG(name, "name");
	CHECK_ARG(ret_format, "ret_format");
	return tracefs_format(&catalog->tracefs, system, name, ret_format);
}

static int each_of_system(
	struct tracefs *tracefs, const char *system, attar_tracepoint_fn *fn, void *ctx)
{
	dir_names events _cleanup_(dir_names_done) = {0};
	int r = 0;

	if (tracefs_events(tracefs, system, &events) < 0)
		return 0; /* removed meanwhile */
	vec_each (&events, event)
		if (r == 0)
			r = fn(ctx, system, *event);
	return r;
}

int attar_catalog_tracepoints(struct attar_catalog *catalog, attar_tracepoint_fn *fn, void *ctx)
{
	CHECK_ARG(catalog, "catalog");
	CHECK_ARG(fn, "fn");

	dir_names systems _cleanup_(dir_names_done) = {0};
	int r = tracefs_systems(&catalog->tracefs, &systems);

	vec_each (&systems, system)
		if (r == 0)
			r = each_of_system(&catalog->tracefs, *system, fn, ctx);
	return r;
}

void catalog_resolver(struct attar_catalog *catalog, attar_address_fn *fn, void *ctx)
{
	CHECK_ARG_OR(catalog, "catalog", );

	catalog->tracefs.resolve = fn;
	catalog->tracefs.resolve_ctx = ctx;
}
