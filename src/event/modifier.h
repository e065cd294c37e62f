/* SPDX-License-Identifier: MIT */
/* The letters behind a colon: cycles:u, {a,b}:S. */
#ifndef EVENT_MODIFIER_H
#define EVENT_MODIFIER_H

#include "event/list.h"

/* How many letters stand at text: letters of any kind, known or not, up to the end of the word. */
size_t modifier_span(const char *text);

/* The first of n letters that no modifier has, or NULL. */
const char *modifier_unknown(const char *at, size_t n);

/* Applies the letters of an event and of its group to the spec and puts them behind its name. */
int modifier_apply(struct list *list, struct attar_event_spec *spec, struct letters own,
	struct letters of_group);

#define MODIFIER_LETTERS "ukhGHpPSDeIW"

#endif
