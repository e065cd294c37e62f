/* SPDX-License-Identifier: MIT */
/*
 * The files of a PMU, one line each: format, event, scale, unit, cpumask, a capability; the rest
 * is an event text that uses them ("fz" is the PMU, "term" its format, "event" its event).
 */
#include <stdint.h>

#include "attar/event.h"
#include "event/pmu.h"
#include "../tests/unit/folder.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PMU "bus/event_source/devices/fz/"

static const char *root;
static const char *const files[] = {PMU "format/term", PMU "events/event", PMU "events/event.scale",
	PMU "events/event.unit", PMU "cpumask", PMU "caps/max_precise"};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	root = folder_make();
	folder_line(PMU "type", "40");
	return 0;
}

/*
 * For any format, a value that does not fit is refused, and one that fits changes only its own
 * word.
 */
static void check_bits(const char *text)
{
	uint64_t words[PMU_WORDS] = {0}, value = 0x123456789abcdef;
	struct pmu_format f;

	if (pmu_format_parse(text, &f) < 0)
		return;
	if (f.word >= PMU_WORDS || !f.n || f.n > PMU_RANGES || !f.bits || f.bits > 64)
		abort();
	if (f.bits < 64 && pmu_format_put(&f, 1ULL << f.bits, words) == 0)
		abort();
	if (pmu_format_put(&f, f.bits < 64 ? value & ((1ULL << f.bits) - 1) : value, words) < 0)
		abort();
	for (size_t i = 0; i < PMU_WORDS; i++)
		if (i != f.word && words[i])
			abort();
}

static void parse(const char *text)
{
	struct attar_catalog_opts opts = {
		.size = sizeof(opts), .sysfs = root, .tracefs = root, .proc = root};
	struct attar_catalog *catalog = NULL;
	struct attar_event_list *list = NULL;

	if (attar_catalog_new(&opts, &catalog) < 0)
		abort();
	for (int i = 0; i < 3; i++) {
		const char *texts[] = {"fz/event/P", "fz/event,term=5/", text};

		if (attar_event_list_parse(catalog, texts[i], &list) == 0 && list->n &&
			(!list->at[0].name || !(list->at[0].scale > 0)))
			abort();
		list = attar_event_list_free(list);
	}
	attar_catalog_free(catalog);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line = text;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *end = line + strcspn(line, "\n");

		folder_put(files[i], line, (size_t)(end - line));
		if (*end)
			*end++ = '\0';
		if (i == 0)
			check_bits(line);
		line = end;
	}
	parse(line);
	free(text);
	return 0;
}
