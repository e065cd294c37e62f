/* SPDX-License-Identifier: MIT */
/* Lines of /proc/PID/maps into an address space, which must stay sorted and disjoint. */
#include "attar/private/symbol.h"
#include "symbol/maps.h"
#include "symbol/address_space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct attar_address_space *space)
{
	const struct ranges *ranges = space->ranges;

	for (size_t i = 0; ranges && i < ranges->n; i++) {
		const struct range *r = &ranges->at[i];

		if (!r->len || r->start + (r->len - 1) < r->start)
			abort();
		if (i && r[-1].start + (r[-1].len - 1) >= r->start)
			abort();
	}
}

static void map_lines(struct attar_address_space *space, char *text)
{
	char *next;

	for (char *line = text; line; line = next) {
		struct attar_mapping mapping;
		bool executable;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!maps_line(line, &mapping, &executable))
			continue;
		attar_address_space_map(space, &mapping);
		check(space);
		/* A location without samples must not open the file named by the fuzzer. */
		for (size_t i = 0; i < space->ranges->n; i++)
			space->ranges->at[i].settled = true;
		if (attar_location_dso(attar_address_space_locate(space, mapping.start)) ==
			ATTAR_DSO_UNKNOWN)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attar_symbols_opts opts = {.size = sizeof(opts), .no_kernel = true, .max_dsos = 100};
	struct attar_symbols *symbols;
	struct attar_address_space *space, *child;
	char *text = strndup((const char *)data, size);

	if (!text || attar_symbols_new(&opts, &symbols) < 0)
		abort();
	space = attar_address_space_new(symbols, getpid());
	child = address_space_fork(space, getpid() + 1);
	map_lines(space, text);
	child = attar_address_space_free(child);
	child = address_space_fork(space, getpid() + 1);
	attar_address_space_free(space);
	check(child);
	attar_address_space_free(child);
	attar_symbols_free(symbols);
	free(text);
	return 0;
}
