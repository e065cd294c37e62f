/* SPDX-License-Identifier: MIT */
#include "event/catalog.h"

#include "base/check.h"
#include "base/opts.h"
#include "tracefs/format.h"
#include "event/pmu.h"
#include "event/probe.h"
#include "tracefs/tracefs.h"

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : base_oom();
}

int attar_catalog_new(const struct attar_catalog_opts *opts, struct attar_catalog **ret_catalog)
{
	CHECK_ARG(ret_catalog, "ret_catalog");

	struct attar_catalog_opts o = {0};
	struct attar_catalog *c;
	int r = opts_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return base_oom();
	c->process = check_process;
	c->mount = o.mount;
	c->stop = o.stop;
	r = copy(o.sysfs ? o.sysfs : "/sys", &c->sysfs);
	if (r == 0)
		r = copy(o.proc ? o.proc : "/proc", &c->proc);
	if (r == 0 && o.tracefs)
		r = copy(o.tracefs, &c->tracefs);
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
	dynevent_remove_own(catalog);
	map_done(&catalog->constants);
	map_done(&catalog->strings);
	free(catalog->strings_text);
	vec_each (&catalog->formats, format)
		attar_format_free(*format);
	vec_done(&catalog->formats);
	vec_each (&catalog->pmus, pmu)
		pmu_free(*pmu);
	vec_done(&catalog->pmus);
	map_done(&catalog->formats_by_name);
	free(catalog->tracefs);
	free(catalog->proc);
	free(catalog->sysfs);
	free(catalog);
	return NULL;
}
