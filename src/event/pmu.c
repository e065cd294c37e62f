/* SPDX-License-Identifier: MIT */
#include "event/pmu.h"

#include <ctype.h>
#include <fnmatch.h>
#include <locale.h>
#include <stdio.h>

#include "base/check_arg.h"
#include "base/file.h"

enum { PMUS_MAX = 4096, CPU_MAX = 65535 };

/* ---- bit fields ---- */

static int bit_number(const char **p, uint8_t *ret_bit)
{
	unsigned bit = 0;
	const char *start = *p;

	for (; isdigit((unsigned char)**p) && *p - start < 3; ++*p)
		bit = bit * 10 + (unsigned)(**p - '0');
	if (*p == start || bit > 63)
		return -EBADMSG;
	*ret_bit = (uint8_t)bit;
	return 0;
}

static int word_number(const char **p, uint8_t *ret_word)
{
	if (strncmp(*p, "config", 6))
		return -EBADMSG;
	*p += 6;
	*ret_word = 0;
	if (**p >= '1' && **p < '0' + PMU_WORDS)
		*ret_word = (uint8_t)(*(*p)++ - '0');
	return *(*p)++ == ':' ? 0 : -EBADMSG;
}

int pmu_format_parse(const char *text, struct pmu_format *ret_format)
{
	struct pmu_format f = {0};
	const char *p = text;
	unsigned bits = 0;

	if (word_number(&p, &f.word) < 0)
		return -EBADMSG;
	for (;;) {
		uint8_t low, high;

		if (f.n == PMU_RANGES || bit_number(&p, &low) < 0)
			return -EBADMSG;
		high = low;
		if (*p == '-' && (p++, bit_number(&p, &high) < 0 || high < low))
			return -EBADMSG;
		f.ranges[f.n].low = low;
		f.ranges[f.n++].high = high;
		bits += high - low + 1U;
		if (*p != ',')
			break;
		p++;
	}
	if (bits > 64 || p[strspn(p, " \n")])
		return -EBADMSG;
	f.bits = (uint8_t)bits;
	*ret_format = f;
	return 0;
}

static uint64_t ones(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

int pmu_format_put(const struct pmu_format *format, uint64_t value, uint64_t words[PMU_WORDS])
{
	uint64_t *word = &words[format->word];

	if (value & ~ones(format->bits))
		return -ERANGE;
	for (unsigned i = 0; i < format->n; i++) {
		unsigned low = format->ranges[i].low, n = format->ranges[i].high - low + 1U;

		*word = (*word & ~(ones(n) << low)) | (value & ones(n)) << low;
		value = n < 64 ? value >> n : 0;
	}
	return 0;
}

/* ---- the list of PMUs ---- */

static int read_text(const char *folder, const char *name, struct buf *b)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return -ENAMETOOLONG;
	return file_read(path, PMU_TEXT_MAX, b);
}

static bool has(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/*
 * Reads a CPU list; it is empty if the file is absent, empty or malformed. True if the file exists.
 */
static bool read_cpus(struct pmu *pmu, const char *name)
{
	struct buf b _cleanup_(buf_done) = {0};

	if (read_text(pmu->path, name, &b) < 0)
		return false;
	if (b.len > 1 && parse_list(buf_text(&b), CPU_MAX, &pmu->cpus) < 0) {
		log_debug("%s/%s: %s", pmu->path, name, attar_error());
		vec_done(&pmu->cpus);
	}
	return true;
}

/*
 * `cpus` lists the CPUs of a core PMU. `cpumask` has one CPU per instance of a shared device, which
 * cannot count per task. (The cpumask of Arm SPE is a list of cores.)
 */
static void read_kind(struct pmu *pmu)
{
	pmu->pub.core = !strcmp(pmu->name, "cpu") || !strcmp(pmu->name, "cpum_cf");
	if (read_cpus(pmu, "cpus"))
		pmu->pub.core = true;
	else if (read_cpus(pmu, "cpumask"))
		pmu->pub.system_wide = !pmu->pub.core && strncmp(pmu->name, "arm_spe", 7);
	pmu->pub.cpus = pmu->cpus.at;
	pmu->pub.n_cpus = pmu->cpus.n;
}

void pmu_free(struct pmu *pmu)
{
	vec_each (&pmu->terms, term)
		free(term->name);
	vec_done(&pmu->terms);
	vec_done(&pmu->cpus);
	free(pmu->path);
	free(pmu->name);
	free(pmu);
}

static int add_pmu(struct attar_catalog *catalog, const char *folder, const char *name)
{
	struct pmu *pmu = calloc(1, sizeof(*pmu));
	int64_t type = -1;
	char *type_path _cleanup_free_ = NULL;

	if (!pmu)
		return base_oom();
	pmu->name = strdup(name);
	if (!pmu->name || asprintf(&pmu->path, "%s/%s", folder, name) < 0 ||
		asprintf(&type_path, "%s/type", pmu->path) < 0 ||
		vec_reserve(&catalog->pmus, 1) < 0) {
		pmu_free(pmu);
		return base_oom();
	}
	if (file_read_i64(type_path, &type) < 0 || type < 0 || type > INT32_MAX) {
		pmu_free(pmu); /* being removed, or not a PMU */
		return 0;
	}
	pmu->pub.name = pmu->name;
	pmu->pub.type = (uint32_t)type;
	read_kind(pmu);
	catalog->pmus.at[catalog->pmus.n++] = pmu;
	return 0;
}

int pmu_load(struct attar_catalog *catalog)
{
	dir_names names _cleanup_(dir_names_done) = {0};
	char folder[4096];
	int r;

	if (catalog->pmus_read)
		return 0;
	catalog->pmus_read = true;
	snprintf(folder, sizeof(folder), "%s/bus/event_source/devices", catalog->tracefs.sysfs);
	r = dir_read(folder, &names);
	if (r == -ENOMEM)
		return base_oom();
	if (r < 0)
		log_debug("no PMUs: cannot read %s: %s", folder, strerror(-r));
	r = 0;
	vec_each (&names, name)
		if (r == 0 && catalog->pmus.n < PMUS_MAX)
			r = add_pmu(catalog, folder, *name);
	if (r == 0)
		attar_error_clear();
	return r;
}

const struct attar_pmu *attar_catalog_pmu(struct attar_catalog *catalog, size_t i)
{
	CHECK_ARG_OR(catalog, "catalog", NULL);

	if (pmu_load(catalog) < 0 || i >= catalog->pmus.n)
		return NULL;
	return &catalog->pmus.at[i]->pub;
}

/* ---- matching PMU names ---- */

static size_t without_instance(const char *name)
{
	size_t n = strlen(name), digits = n;

	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	return digits < n && digits > 1 && name[digits - 1] == '_' ? digits - 1 : n;
}

static bool stands_for(const char *written, const struct pmu *pmu)
{
	const char *name = pmu->name;
	size_t n = without_instance(name);

	if (strpbrk(written, "*?["))
		return fnmatch(written, name, 0) == 0;
	if (strlen(written) == n && !strncmp(written, name, n))
		return true;
	if (strncmp(name, "uncore_", 7))
		return false;
	return !strcmp(written, name + 7) ||
	       (strlen(written) == n - 7 && !strncmp(written, name + 7, n - 7));
}

struct pmu *pmu_match(struct attar_catalog *catalog, const char *name, size_t i)
{
	if (pmu_load(catalog) < 0)
		return NULL;
	vec_each (&catalog->pmus, pmu)
		if (!strcmp((*pmu)->name, name))
			return i == 0 ? *pmu : NULL;
	if (!strcmp(name, "cpu"))
		return pmu_core(catalog, i);
	vec_each (&catalog->pmus, pmu)
		if (stands_for(name, *pmu) && i-- == 0)
			return *pmu;
	return NULL;
}

struct pmu *pmu_core(struct attar_catalog *catalog, size_t i)
{
	if (pmu_load(catalog) < 0)
		return NULL;
	vec_each (&catalog->pmus, pmu)
		if ((*pmu)->pub.core && i-- == 0)
			return *pmu;
	return NULL;
}

/* ---- terms ---- */

static void read_term(struct pmu *pmu, const char *folder, const char *name)
{
	struct buf b _cleanup_(buf_done) = {0};
	struct pmu_term term;

	if (read_text(folder, name, &b) < 0)
		return;
	if (pmu_format_parse(buf_text(&b), &term.format) < 0) {
		log_debug("%s/%s: '%.40s' is not a bit field", folder, name, buf_text(&b));
		return;
	}
	term.name = strdup(name);
	if (!term.name || vec_push(&pmu->terms, term) < 0)
		free(term.name);
}

static void read_terms(struct pmu *pmu)
{
	dir_names names _cleanup_(dir_names_done) = {0};
	char folder[4096];

	if (pmu->terms_read)
		return;
	pmu->terms_read = true;
	snprintf(folder, sizeof(folder), "%s/format", pmu->path);
	if (dir_read(folder, &names) == 0)
		vec_each (&names, name)
			read_term(pmu, folder, *name);
}

const struct pmu_format *pmu_term(struct pmu *pmu, const char *name)
{
	read_terms(pmu);
	vec_each (&pmu->terms, term)
		if (!strcmp(term->name, name))
			return &term->format;
	return NULL;
}

int pmu_term_names(const struct pmu *pmu, dir_names *ret_names)
{
	char folder[4096];
	int r;

	snprintf(folder, sizeof(folder), "%s/format", pmu->path);
	r = dir_read(folder, ret_names);
	return r == -ENOMEM ? r : 0;
}

/* ---- events ---- */

static bool is_event_attribute(const char *name)
{
	static const char *const ends[] = {".scale", ".unit", ".per-pkg", ".snapshot"};
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

int pmu_event_names(const struct pmu *pmu, dir_names *ret_names)
{
	char folder[4096];
	size_t kept = 0;
	int r;

	snprintf(folder, sizeof(folder), "%s/events", pmu->path);
	r = dir_read(folder, ret_names);
	if (r == -ENOMEM)
		return r;
	vec_each (ret_names, name) {
		if (is_event_attribute(*name))
			free(*name);
		else
			ret_names->at[kept++] = *name;
	}
	ret_names->n = kept;
	return 0;
}

bool pmu_has_event(const struct pmu *pmu, const char *name)
{
	char folder[4096];

	if (!name[0] || name[0] == '.' || strchr(name, '/') || is_event_attribute(name))
		return false;
	snprintf(folder, sizeof(folder), "%s/events", pmu->path);
	return has(folder, name);
}

/* The kernel writes a decimal point, regardless of the locale. */
static int read_scale(const char *text, double *ret_scale)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", NULL);
	char *end = NULL;
	double scale;

	if (!plain)
		return base_oom();
	scale = strtod_l(text, &end, plain);
	freelocale(plain);
	if (end == text || !(scale > 0) || scale > 1e300)
		return -EBADMSG;
	*ret_scale = scale;
	return 0;
}

static void cut(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}

static int read_event_attributes(const char *folder, const char *name, struct pmu_event *event)
{
	struct buf unit _cleanup_(buf_done) = {0}, scale _cleanup_(buf_done) = {0};
	char file[600];

	event->scale = 1;
	snprintf(file, sizeof(file), "%s.per-pkg", name);
	event->per_package = has(folder, file);
	snprintf(file, sizeof(file), "%s.snapshot", name);
	event->snapshot = has(folder, file);
	snprintf(file, sizeof(file), "%s.unit", name);
	if (has(folder, file) && read_text(folder, file, &unit) == 0 && unit.len) {
		cut(unit.data);
		event->unit = buf_take(&unit);
	}
	snprintf(file, sizeof(file), "%s.scale", name);
	if (has(folder, file) && read_text(folder, file, &scale) == 0 &&
		read_scale(buf_text(&scale), &event->scale) < 0)
		return attar_fail(-EBADMSG, "%s/%s does not contain a scale", folder, file);
	return 0;
}

int pmu_event_read(const struct pmu *pmu, const char *name, struct pmu_event *ret_event)
{
	struct buf b _cleanup_(buf_done) = {0};
	struct pmu_event event = {0};
	char folder[4096];
	int r;

	snprintf(folder, sizeof(folder), "%s/events", pmu->path);
	r = read_text(folder, name, &b);
	if (r == 0)
		r = read_event_attributes(folder, name, &event);
	if (r == 0) {
		buf_add(&b, "", 0);
		event.terms = buf_take(&b);
		r = event.terms ? 0 : base_oom();
	}
	if (r < 0) {
		pmu_event_done(&event);
		return r;
	}
	cut(event.terms);
	*ret_event = event;
	return 0;
}

void pmu_event_done(struct pmu_event *event)
{
	free(event->terms);
	free(event->unit);
	memset(event, 0, sizeof(*event));
}

static int show_event(const struct pmu *pmu, const char *name, attar_pmu_event_fn *fn, void *ctx)
{
	struct pmu_event event;
	struct attar_pmu_event shown;
	int r = pmu_event_read(pmu, name, &event);

	if (r == -ENOMEM)
		return r;
	if (r < 0) { /* malformed in sysfs: skip this event */
		log_debug("%s", attar_error());
		return 0;
	}
	shown = (struct attar_pmu_event){
		name, event.terms, event.unit ? event.unit : "", event.scale};
	r = fn(ctx, &shown);
	pmu_event_done(&event);
	return r;
}

int attar_pmu_events(const struct attar_pmu *pub, attar_pmu_event_fn *fn, void *ctx)
{
	CHECK_ARG(pub, "pmu");
	CHECK_ARG(fn, "fn");

	const struct pmu *pmu = pmu_of(pub);
	dir_names names _cleanup_(dir_names_done) = {0};
	int r = pmu_event_names(pmu, &names);

	if (r < 0)
		return base_oom();
	vec_each (&names, name)
		if (r == 0)
			r = show_event(pmu, *name, fn, ctx);
	return r;
}

int attar_pmu_cap(const struct attar_pmu *pmu, const char *name, int64_t *ret_value)
{
	CHECK_ARG(pmu, "pmu");
	CHECK_ARG(name, "name");
	CHECK_ARG(ret_value, "ret_value");

	char path[4096];
	int64_t value;
	int r;

	if (strchr(name, '/') || name[0] == '.')
		return attar_fail(-EINVAL, "'%s' is not a valid capability name", CLIP(name));
	snprintf(path, sizeof(path), "%s/caps/%s", pmu_of(pmu)->path, name);
	r = file_read_i64(path, &value);
	if (r == -ENOENT)
		return attar_fail(-ENOENT, "PMU '%s' does not have the capability '%s'",
			CLIP(pmu->name), CLIP(name));
	if (r == 0)
		*ret_value = value;
	return r;
}
