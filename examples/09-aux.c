/* SPDX-License-Identifier: MIT */
/*
 * Traces a loop with Intel PT, which few machines have: the PMU writes bytes for a decoder to an
 * AUX area.
 */
#include <stdio.h>

#include <attar/attar.h>

/* The PMU's type in sysfs; 0: no such PMU. */
static unsigned pmu_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/intel_pt/type", "re");
	unsigned type = 0;

	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return type;
}

static void drain(struct attar_counter *counter, struct attar_ring *ring, struct attar_aux *aux)
{
	const struct perf_event_header *bytes;
	struct attar_layout layout;
	struct attar_aux_data data;
	struct attar_record rec;

	attar_layout_init(&layout, attar_counter_attr(counter));
	attar_ring_begin(ring);
	while ((bytes = attar_ring_next(ring))) {
		if (attar_record_parse(&layout, bytes, bytes->size, &rec) < 0 ||
			rec.type != PERF_RECORD_AUX || attar_aux_read(aux, &rec, &data) < 0)
			continue;
		printf("%llu bytes in %d piece(s)%s\n", (unsigned long long)data.size,
			1 + (data.parts[1].size > 0), data.truncated ? ", and some are lost" : "");
		attar_aux_release(aux, &data);
		if (data.truncated)
			attar_counter_enable(counter);
	}
	attar_ring_end(ring);
}

int main(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = pmu_type() ? pmu_type() : PERF_TYPE_SOFTWARE,
		.config = pmu_type() ? 0 : PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.disabled = 1};
	struct attar_counter *counter;
	struct attar_target *self;
	struct attar_ring **rings;
	struct attar_aux *aux;
	size_t n;

	if (attar_target_new(&opts, &self) < 0 ||
		attar_counter_open(self, &attr, "intel_pt", 0, &counter) < 0 ||
		attar_rings_new(self, &counter, 1, 65536, &rings, &n) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	if (attar_aux_new(rings[0], 1 << 20, false, &aux) < 0) {
		fprintf(stderr, "%s\n", attar_error()); /* expected on most machines */
	} else {
		attar_counter_enable(counter);
		for (volatile int i = 0; i < 100000; i++)
			;
		attar_counter_disable(counter);
		printf("an area of %zu bytes\n", attar_aux_size(aux));
		drain(counter, rings[0], aux);
		attar_aux_free(aux);
	}
	attar_rings_free(rings, n);
	attar_counter_close(counter);
	attar_target_free(self);
	return 0;
}
