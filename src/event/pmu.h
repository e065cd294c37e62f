/* SPDX-License-Identifier: MIT */
/*
 * The PMUs of sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices*): their type, the
 * bit fields of their configuration, their named events.
 */
#ifndef EVENT_PMU_H
#define EVENT_PMU_H

#include "base/parse.h"
#include "event/catalog.h"
#include "tracefs/dir.h"

enum { PMU_WORDS = 5 /* config, config1 ... config4 */, PMU_RANGES = 16, PMU_TEXT_MAX = 65536 };

/* Where the bits of a term go: the lowest of its value into the first range. */
struct pmu_format {
	uint8_t word;
	uint8_t n;    /* ranges */
	uint8_t bits; /* of all ranges */
	struct {
		uint8_t low, high;
	} ranges[PMU_RANGES];
};

/* "config1:0-7,32-35". 0, or -EBADMSG without an error text. */
int pmu_format_parse(const char *text, struct pmu_format *ret_format);

/* Puts value where format says, over what was there. 0, or -ERANGE when it has too many bits. */
int pmu_format_put(const struct pmu_format *format, uint64_t value, uint64_t words[PMU_WORDS]);

struct pmu_term {
	char *name;
	struct pmu_format format;
};

/* A named event: events/NAME and its satellites. */
struct pmu_event {
	char *terms; /* "event=0x3c,umask=?" */
	char *unit;  /* NULL: a plain count */
	double scale;
	bool per_package, snapshot;
};

struct pmu {
	struct attar_pmu pub; /* first: a struct attar_pmu * is this */
	char *name, *path;
	parse_ints cpus;
	VEC(struct pmu_term) terms; /* by name; read when terms_read */
	bool terms_read;
};

static inline struct pmu *pmu_of(const struct attar_pmu *pub)
{
	return (struct pmu *)pub;
}

/* Reads the list of PMUs, once. No sysfs, no PMUs: 0 as well. */
int pmu_load(struct attar_catalog *catalog);
void pmu_free(struct pmu *pmu);

/* The i-th PMU that a name written by the user stands for: itself, a pattern, or all instances. */
struct pmu *pmu_match(struct attar_catalog *catalog, const char *name, size_t i);

/* The i-th PMU of CPU cores: more than one where the cores differ. */
struct pmu *pmu_core(struct attar_catalog *catalog, size_t i);

/* The bit field of that name, NULL when the PMU has none. */
const struct pmu_format *pmu_term(struct pmu *pmu, const char *name);

/* True when the PMU has an event of that name. */
bool pmu_has_event(const struct pmu *pmu, const char *name);

/* Reads an event. For pmu_event_done() unless it fails, with a sentence. */
int pmu_event_read(const struct pmu *pmu, const char *name, struct pmu_event *ret_event);
void pmu_event_done(struct pmu_event *event);

/* Names of events (satellites left out) and of terms; sorted. 0 or -ENOMEM. */
int pmu_event_names(const struct pmu *pmu, dir_names *ret_names);
int pmu_term_names(const struct pmu *pmu, dir_names *ret_names);

#endif
