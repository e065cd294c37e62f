/* SPDX-License-Identifier: MIT */
#include "elf/kallsyms.h"

#include "elf/kallsyms_text.h"

enum {
	MAX_SYMBOLS = 4 << 20,
	MAX_NAMES = 256 << 20, /* bytes; must fit kallsyms_symbol.name */
	NO_CODE = 3,           /* rank of an end marker */
	PAGE = 4096,
	BPF_PACK = 2 << 20, /* bytes that BPF programs share, since Linux 5.18 */
};

/* Returns the rank, lower is better (see the header), or -1 if the symbol is not code. */
static int rank_of(char type)
{
	switch (type) {
	case 'T':
		return 0;
	case 'W':
	case 'w':
		return 1;
	case 't':
		return 2;
	default:
		return -1;
	}
}

static bool starts_with(const struct kallsyms_line *line, const char *prefix)
{
	size_t n = strlen(prefix);

	return line->name_len >= n && !memcmp(line->name, prefix, n);
}

/*
 * Orders names of the same address by plainness: names for other ABIs and early copies come last.
 */
static int plainness(const char *name, size_t n)
{
	struct kallsyms_line line = {.name = name, .name_len = n};
	int score = 0;

	if (starts_with(&line, "__ia32_") || starts_with(&line, "__pi_") ||
		starts_with(&line, "compat_"))
		score += 100;
	while (n && *name == '_') {
		score++;
		name++;
		n--;
	}
	return score;
}

static bool better(const struct kallsyms *list, const struct kallsyms_symbol *a,
	const struct kallsyms_symbol *b)
{
	const char *name_a = list->names.data + a->name, *name_b = list->names.data + b->name;
	size_t len_a = strlen(name_a), len_b = strlen(name_b);
	int plain_a = plainness(name_a, len_a), plain_b = plainness(name_b, len_b);

	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (plain_a != plain_b)
		return plain_a < plain_b;
	return len_a > len_b;
}

static struct kallsyms_region *region_for(struct kallsyms *list, const struct kallsyms_line *line)
{
	struct kallsyms_region *region =
		list->regions.n ? &list->regions.at[list->regions.n - 1] : NULL;
	uint64_t high = line->address >> 32 << 32;
	const char *owner = region && region->owner ? list->names.data + region->owner : "";
	bool same_owner = strlen(owner) == line->owner_len &&
			  !memcmp(owner, line->owner ?: "", line->owner_len);

	if (region && region->high == high && same_owner)
		return region;
	region = vec_add(&list->regions);
	if (!region)
		return NULL;
	region->high = high;
	region->first = (uint32_t)list->symbols.n;
	if (list->regions.n > 1 && same_owner) {
		region->owner = region[-1].owner;
	} else if (line->owner) {
		region->owner = (uint32_t)list->names.len;
		buf_add(&list->names, line->owner, line->owner_len);
		buf_char(&list->names, '\0');
	}
	return region;
}

static int add_code(struct kallsyms *list, const struct kallsyms_line *line, int rank)
{
	struct kallsyms_region *region = region_for(list, line);
	struct kallsyms_symbol symbol = {
		.low = (uint32_t)line->address,
		.name = (uint32_t)list->names.len & 0x3fffffff,
		.rank = (unsigned)rank & 3,
	};
	struct kallsyms_symbol *last;

	if (!region)
		return base_oom();
	buf_add(&list->names, line->name, line->name_len);
	buf_char(&list->names, '\0');
	if (buf_failed(&list->names))
		return base_oom();
	last = region->n ? &list->symbols.at[list->symbols.n - 1] : NULL;
	if (last && last->low == symbol.low && last->rank != NO_CODE) {
		/* An alias: keep the better one and move its name to the position of the other. */
		if (better(list, &symbol, last)) {
			memmove(list->names.data + last->name, line->name, line->name_len);
			last->rank = symbol.rank;
			list->names.len = last->name + line->name_len;
			buf_char(&list->names, '\0');
		} else {
			list->names.len = symbol.name;
		}
		return 0;
	}
	if (vec_push(&list->symbols, symbol) < 0)
		return base_oom();
	region->n++;
	return 0;
}

/* Kernel data follows kernel code: it ends the last function. */
static int add_end(struct kallsyms *list, const struct kallsyms_line *line)
{
	struct kallsyms_region *region =
		list->regions.n ? &list->regions.at[list->regions.n - 1] : NULL;
	struct kallsyms_symbol mark = {.low = (uint32_t)line->address, .rank = NO_CODE};

	if (!region || line->owner || region->owner || region->high != line->address >> 32 << 32)
		return 0;
	if (list->symbols.at[list->symbols.n - 1].rank == NO_CODE)
		return 0;
	if (vec_push(&list->symbols, mark) < 0)
		return base_oom();
	region->n++;
	return 0;
}

static int add_line(void *ctx, const struct kallsyms_line *line)
{
	struct kallsyms *list = ctx;
	int rank = rank_of(line->type);

	list->lines++;
	if (!line->address)
		return 0;
	list->addresses = true;
	if (list->symbols.n >= MAX_SYMBOLS ||
		list->names.len + line->name_len + line->owner_len + 2 > MAX_NAMES)
		return 0;
	if (rank < 0)
		return add_end(list, line);
	return kallsyms_is_noise(line) ? 0 : add_code(list, line, rank);
}

static int by_low(const void *a, const void *b)
{
	const struct kallsyms_symbol *x = a, *y = b;

	return x->low != y->low ? (x->low < y->low ? -1 : 1) : (int)x->rank - (int)y->rank;
}

/* Sorts a region (modules list their symbols in the order of their own table) and drops aliases. */
static void finish_region(struct kallsyms *list, struct kallsyms_region *region)
{
	struct kallsyms_symbol *at = list->symbols.at + region->first;
	bool sorted = true;
	uint32_t n = 0;
	uint64_t last;

	for (uint32_t i = 1; i < region->n && sorted; i++)
		sorted = at[i - 1].low < at[i].low;
	if (!sorted) {
		qsort(at, region->n, sizeof(*at), by_low);
		for (uint32_t i = 0; i < region->n; i++) {
			if (!n || at[n - 1].low != at[i].low)
				at[n++] = at[i];
			else if (at[i].rank != NO_CODE && better(list, &at[i], &at[n - 1]))
				at[n - 1] = at[i];
		}
		region->n = n;
	}
	/*
	 * The size of the last symbol is unknown: extend it to the end of the next page. BPF
	 * programs may be larger, and end within their pack.
	 */
	last = region->high | at[region->n - 1].low;
	if (!strcmp(list->names.data + region->owner, "[bpf]"))
		region->end = (last & ~(uint64_t)(BPF_PACK - 1)) + BPF_PACK;
	else
		region->end = (last & ~(uint64_t)(PAGE - 1)) + 2 * PAGE;
	if (region->end < last)
		region->end = UINT64_MAX;
}

static int kallsyms_finish(struct kallsyms *list)
{
	if (list->lines && !list->addresses)
		return attar_fail(-EACCES,
			"the kernel hides symbol addresses from this user" ATTAR_FIX
			"run as root, or see sysctl kernel.kptr_restrict");
	if (buf_failed(&list->names))
		return base_oom();
	for (size_t i = 0; i < list->regions.n; i++)
		finish_region(list, &list->regions.at[i]);
	if (!list->symbols.n)
		return attar_fail(-ENODATA, "no kernel symbols found");
	return 0;
}

/* Offset 0 of the names is the empty string: no owner, no name. */
static int kallsyms_start(struct kallsyms *list)
{
	*list = (struct kallsyms){0};
	buf_char(&list->names, '\0');
	return buf_failed(&list->names) ? base_oom() : 0;
}

int kallsyms_parse(struct kallsyms *list, const char *text, size_t n)
{
	int r = kallsyms_start(list);

	if (r == 0)
		r = kallsyms_each_of_text(text, n, add_line, list);
	return r < 0 ? r : kallsyms_finish(list);
}

int kallsyms_read(struct kallsyms *list, const char *path)
{
	int r = kallsyms_start(list);

	if (r == 0)
		r = kallsyms_each(path, add_line, list);
	return r < 0 ? r : kallsyms_finish(list);
}

/* The symbol of the region that covers address, or NULL. */
static const struct kallsyms_symbol *find_in(
	const struct kallsyms *list, const struct kallsyms_region *region, uint64_t address)
{
	const struct kallsyms_symbol *at = list->symbols.at + region->first;
	uint32_t low = 0, high = region->n;

	if (address < (region->high | at[0].low) || address >= region->end)
		return NULL;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if ((region->high | at[middle].low) <= address)
			low = middle;
		else
			high = middle;
	}
	return at[low].rank == NO_CODE ? NULL : &at[low];
}

bool kallsyms_find(const struct kallsyms *list, uint64_t address, struct kallsyms_hit *ret_hit)
{
	const struct kallsyms_symbol *best = NULL;
	const struct kallsyms_region *where = NULL;
	uint64_t start = 0;

	/*
	 * There are few regions (one per module), and they may be located in gaps of others: the
	 * nearest start wins.
	 */
	vec_each (&list->regions, region) {
		const struct kallsyms_symbol *symbol = find_in(list, region, address);

		if (!symbol || (best && (region->high | symbol->low) < start))
			continue;
		best = symbol;
		where = region;
		start = region->high | symbol->low;
	}
	if (!best)
		return false;
	*ret_hit = (struct kallsyms_hit){
		.name = list->names.data + best->name,
		.owner = where->owner ? list->names.data + where->owner : NULL,
		.start = start,
		.size = where->end - start,
	};
	if (best + 1 < list->symbols.at + where->first + where->n)
		ret_hit->size = (where->high | best[1].low) - start;
	return true;
}

void kallsyms_done(struct kallsyms *list)
{
	vec_done(&list->symbols);
	vec_done(&list->regions);
	buf_done(&list->names);
}
