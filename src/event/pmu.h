/* SPDX-License-Identifier: MIT */
/*
 * PMUs in sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices*): type, bit fields of
 * the configuration, named events.
 */
#ifndef EVENT_PMU_H
#define EVENT_PMU_H

#include "base/parse.h"
#include "event/catalog.h"
#include "tracefs/dir.h"

enum { PMU_WORDS = 5 /* config, config1 ... config4 */, PMU_RANGES = 16, PMU_TEXT_MAX = 65536 };

/* The bit ranges of a term; the lowest bits of the value go into the first range. */
struct pmu_format {
	uint8_t word;
	uint8_t n;    /* ranges */
	uint8_t bits; /* of all ranges */
	struct {
		uint8_t low, high;
	} ranges[PMU_RANGES];
};

/* "config1:0-7,32-35". 0, or -EBADMSG without an error message. */
int pmu_format_parse(const char *text, struct pmu_format *ret_format);

/*
 * Writes value to the bits of format, replacing their contents. Returns 0, or -ERANGE if it has too
 * many bits.
 */
int pmu_format_put(const struct pmu_format *format, uint64_t value, uint64_t words[PMU_WORDS]);

struct pmu_term {
	char *name;
	struct pmu_format format;
};

/* A named event: events/NAME and its attributes (NAME.unit, NAME.scale ...). */
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
	VEC(struct pmu_term) terms; /* by name; valid if terms_read */
	bool terms_read;
};

static inline struct pmu *pmu_of(const struct attar_pmu *pub)
{
	return (struct pmu *)pub;
}

/* Reads the list of PMUs, once. Returns 0 also if sysfs has none. */
int pmu_load(struct attar_catalog *catalog);
void pmu_free(struct pmu *pmu);

/* The i-th PMU that matches a name from the user: exact, by pattern, or all instances. */
struct pmu *pmu_match(struct attar_catalog *catalog, const char *name, size_t i);

/* The i-th core PMU: hybrid CPUs have several. */
struct pmu *pmu_core(struct attar_catalog *catalog, size_t i);

/* The bit field of that name; NULL: none. */
const struct pmu_format *pmu_term(struct pmu *pmu, const char *name);

/* True when the PMU has an event of that name. */
bool pmu_has_event(const struct pmu *pmu, const char *name);

/*
 * Reads an event. Returns 0, then free it with pmu_event_done(); or a negative errno with an error
 * message.
 */
int pmu_event_read(const struct pmu *pmu, const char *name, struct pmu_event *ret_event);
void pmu_event_done(struct pmu_event *event);

/* Names of events (without attributes) and of terms, sorted. Returns 0 or -ENOMEM. */
int pmu_event_names(const struct pmu *pmu, dir_names *ret_names);
int pmu_term_names(const struct pmu *pmu, dir_names *ret_names);

#endif
