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

const struct debug_value *naming_value(const struct naming *naming)
{
	if (naming->linkage.class)
		return &naming->linkage;
	if (naming->origin.class)
		return &naming->origin;
	return naming->name.class ? &naming->name : NULL;
}
