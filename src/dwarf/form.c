/* SPDX-License-Identifier: MIT */
#include "dwarf/form.h"

#include "dwarf/constants.h"

/* clang-format off */
const struct form forms_standard[FORMS_STANDARD] = {
	[DW_FORM_addr] =           {OF_ADDRESS, DEBUG_ADDRESS},
	[DW_FORM_addrx] =          {ULEB, DEBUG_ADDRESS_INDEX},
	[DW_FORM_addrx1] =         {BYTES_1, DEBUG_ADDRESS_INDEX},
	[DW_FORM_addrx2] =         {BYTES_2, DEBUG_ADDRESS_INDEX},
	[DW_FORM_addrx3] =         {BYTES_3, DEBUG_ADDRESS_INDEX},
	[DW_FORM_addrx4] =         {BYTES_4, DEBUG_ADDRESS_INDEX},
	[DW_FORM_flag] =           {BYTES_1, DEBUG_CONSTANT},
	[DW_FORM_data1] =          {BYTES_1, DEBUG_CONSTANT},
	[DW_FORM_data2] =          {BYTES_2, DEBUG_CONSTANT},
	[DW_FORM_data4] =          {BYTES_4, DEBUG_CONSTANT}, /* an offset in DWARF 2 and 3 */
	[DW_FORM_data8] =          {BYTES_8, DEBUG_CONSTANT},
	[DW_FORM_data16] =         {BYTES_16, DEBUG_NONE},
	[DW_FORM_sdata] =          {SLEB, DEBUG_CONSTANT},
	[DW_FORM_udata] =          {ULEB, DEBUG_CONSTANT},
	[DW_FORM_implicit_const] = {IMPLICIT, DEBUG_CONSTANT},
	[DW_FORM_flag_present] =   {PRESENT, DEBUG_CONSTANT},
	[DW_FORM_sec_offset] =     {OF_OFFSET, DEBUG_OFFSET},
	[DW_FORM_rnglistx] =       {ULEB, DEBUG_RANGE_INDEX},
	[DW_FORM_loclistx] =       {ULEB, DEBUG_NONE},
	[DW_FORM_string] =         {TEXT, DEBUG_INLINE},
	[DW_FORM_strp] =           {OF_OFFSET, DEBUG_STRING},
	[DW_FORM_line_strp] =      {OF_OFFSET, DEBUG_LINE_STRING},
	[DW_FORM_strx] =           {ULEB, DEBUG_STRING_INDEX},
	[DW_FORM_strx1] =          {BYTES_1, DEBUG_STRING_INDEX},
	[DW_FORM_strx2] =          {BYTES_2, DEBUG_STRING_INDEX},
	[DW_FORM_strx3] =          {BYTES_3, DEBUG_STRING_INDEX},
	[DW_FORM_strx4] =          {BYTES_4, DEBUG_STRING_INDEX},
	[DW_FORM_strp_sup] =       {OF_OFFSET, DEBUG_ALT_STRING},
	[DW_FORM_ref1] =           {BYTES_1, DEBUG_REF, true},
	[DW_FORM_ref2] =           {BYTES_2, DEBUG_REF, true},
	[DW_FORM_ref4] =           {BYTES_4, DEBUG_REF, true},
	[DW_FORM_ref8] =           {BYTES_8, DEBUG_REF, true},
	[DW_FORM_ref_udata] =      {ULEB, DEBUG_REF, true},
	[DW_FORM_ref_addr] =       {OF_REF, DEBUG_REF},
	[DW_FORM_ref_sup4] =       {BYTES_4, DEBUG_ALT_REF},
	[DW_FORM_ref_sup8] =       {BYTES_8, DEBUG_ALT_REF},
	[DW_FORM_ref_sig8] =       {BYTES_8, DEBUG_NONE},
	[DW_FORM_block1] =         {BLOCK_1, DEBUG_NONE},
	[DW_FORM_block2] =         {BLOCK_2, DEBUG_NONE},
	[DW_FORM_block4] =         {BLOCK_4, DEBUG_NONE},
	[DW_FORM_block] =          {BLOCK_ULEB, DEBUG_NONE},
	[DW_FORM_exprloc] =        {BLOCK_ULEB, DEBUG_NONE},
	[DW_FORM_indirect] =       {INDIRECT, DEBUG_NONE},
};
/* clang-format on */

/* Those that compilers used before DWARF 5 had the same. */
struct form form_find_other(uint64_t number)
{
	switch (number) {
	case DW_FORM_GNU_addr_index:
		return forms_standard[DW_FORM_addrx];
	case DW_FORM_GNU_str_index:
		return forms_standard[DW_FORM_strx];
	case DW_FORM_GNU_strp_alt:
		return forms_standard[DW_FORM_strp_sup];
	case DW_FORM_GNU_ref_alt:
		return (struct form){OF_OFFSET, DEBUG_ALT_REF};
	default:
		return (struct form){FORM_UNKNOWN, DEBUG_NONE};
	}
}
