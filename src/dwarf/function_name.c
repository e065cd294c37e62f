/* SPDX-License-Identifier: MIT */
#include "dwarf/function_name.h"

#include "dwarf/constants.h"

void naming_take(struct naming *naming, unsigned attribute, const struct debug_value *value)
{
	switch (attribute) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		naming->linkage = *value;
		break;
	case DW_AT_name:
		naming->name = *value;
		break;
	case DW_AT_abstract_origin:
		naming->origin = *value;
		break;
	case DW_AT_specification:
		if (!naming->origin.class)
			naming->origin = *value;
		break;
	}
}

static const struct naming *naming_of(const struct namings *namings, uint64_t entry)
{
	const struct naming *low = namings->list.at;
	size_t n = namings->list.n;

	if (!n)
		return NULL;
	while (n > 1) { /* low->entry <= entry, if any is */
		size_t half = n / 2;

		low = low[half].entry <= entry ? low + half : low;
		n -= half;
	}
	return low->entry == entry ? low : NULL;
}

const struct debug_value *namings_find(const struct namings *namings, uint64_t entry)
{
	const struct naming *own = naming_of(namings, entry), *at = own;
	const struct debug_value *plain = NULL;

	for (int i = 0; i < NAMING_ORIGINS_MAX; i++) {
		if (!at)
			return NULL;
		if (at->linkage.class)
			return &at->linkage;
		if (at != own && !plain && at->name.class)
			plain = &at->name;
		if (!at->origin.class)
			return plain ?: own->name.class ? &own->name : NULL;
		at = at->origin.class == DEBUG_REF ? naming_of(namings, at->origin.u) : NULL;
	}
	return NULL;
}
