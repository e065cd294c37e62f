/* SPDX-License-Identifier: MIT */
/* How the tables of calls/names.h are written: the values of NAME are in NAME_values. */
#ifndef PROFILERS_CALLS_NAMES_TABLE_H
#define PROFILERS_CALLS_NAMES_TABLE_H

#include "calls/names.h"

#define V(name_)                                                                                   \
	{                                                                                          \
		(uint32_t)(name_), #name_                                                          \
	}

#define CALLS_TABLE(name_, choice_, unknown_, bits_)                                               \
	const struct calls_names calls_names_##name_ = {.unknown = (unknown_),                     \
		.choice = (choice_),                                                               \
		.at = name_##_values,                                                              \
		.n = sizeof(name_##_values) / sizeof(*name_##_values),                             \
		.bits = (bits_)}

#define CALLS_FLAGS(name_, unknown_)               CALLS_TABLE(name_, 0, unknown_, 32)
#define CALLS_FLAGS_WITH(name_, choice_, unknown_) CALLS_TABLE(name_, choice_, unknown_, 32)
#define CALLS_ONE(name_, unknown_)                 CALLS_TABLE(name_, UINT64_MAX, unknown_, 32)

#endif
