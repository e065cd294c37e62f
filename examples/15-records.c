/* SPDX-License-Identifier: MIT */
/* Parses a record from bytes: a sample with branches and a data source. */
#include <stdio.h>
#include <string.h>

#include <attar/attar.h>

struct sample {
	struct perf_event_header header;
	uint64_t ip, branches;
	struct perf_branch_entry branch[2];
	uint64_t data_src;
};

int main(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_DATA_SRC};
	struct sample bytes = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(bytes)},
		.ip = 0x401000,
		.branches = 2,
		.branch = {{.from = 0x401000, .to = 0x401080, .mispred = 1, .cycles = 7},
			{.from = 0x400ff0, .to = 0x401000, .predicted = 1}},
		.data_src = PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L3),
	};
	struct attar_layout layout;
	struct attar_record record;
	char source[128];

	attar_layout_init(&layout, &attr);
	if (attar_record_parse(&layout, &bytes, sizeof(bytes), &record) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (uint32_t i = 0; i < record.sample.branch_nr; i++) {
		struct attar_branch branch = attar_branch_at(&record.sample, i);

		printf("%llx -> %llx%s, %u cycles\n", (unsigned long long)branch.from,
			(unsigned long long)branch.to, branch.mispredicted ? " mispredicted" : "",
			branch.cycles);
	}
	attar_data_src_text(record.sample.data_src, source, sizeof(source));
	printf("data: %s\n", source);
	return record.sample.ip != 0x401000 || !strstr(source, "L3");
}
