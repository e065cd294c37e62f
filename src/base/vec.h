/* SPDX-License-Identifier: MIT */
/*
 * A growable array of any type, implemented with macros.
 *
 *	VEC(int) cpus = {0};
 *	if (vec_push(&cpus, 3) < 0) return base_oom();
 *	vec_each(&cpus, cpu) sum += *cpu;
 *	vec_done(&cpus);
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/base.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n;                                                                          \
		size_t size;                                                                       \
	}

/* Reserves space for `more` elements after n. Returns 0, or -ENOMEM with an error message. */
int vec_grow(void **at, size_t *size, size_t n, size_t more, size_t element);

#define vec_reserve(v, more)                                                                       \
	(likely((more) <= (v)->size - (v)->n)                                                      \
			? 0                                                                        \
			: vec_grow((void **)&(v)->at, &(v)->size, (v)->n, (more),                  \
				  sizeof(*(v)->at)))
#define vec_push(v, ...) (vec_reserve(v, 1) < 0 ? -ENOMEM : ((v)->at[(v)->n++] = (__VA_ARGS__), 0))
/* Appends a zeroed element; returns its address, or NULL if out of memory. */
#define vec_add(v)                                                                                 \
	(vec_reserve(v, 1) < 0                                                                     \
			? NULL                                                                     \
			: (__typeof__((v)->at))memset(&(v)->at[(v)->n++], 0, sizeof(*(v)->at)))
#define vec_each(v, it) for (__typeof__(&*(v)->at) it = (v)->at; it && it < (v)->at + (v)->n; it++)
#define vec_done(v)                                                                                \
	do {                                                                                       \
		free((v)->at);                                                                     \
		(v)->at = NULL;                                                                    \
		(v)->n = (v)->size = 0;                                                            \
	} while (0)

#endif
