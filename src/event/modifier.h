/* SPDX-License-Identifier: MIT */
/* The letters after a colon: cycles:u, {a,b}:S. */
#ifndef EVENT_MODIFIER_H
#define EVENT_MODIFIER_H

#include "event/list.h"

/* The number of letters at text, whether they are modifiers or not, up to the end of the word. */
size_t modifier_span(const char *text);

/* The first of n letters that is not a modifier, or NULL. */
const char *modifier_unknown(const char *at, size_t n);

/* Takes ":letters" in front of the filter and attributes of a probe. */
void modifier_take_early(struct parser *parser);

/* Applies the modifiers of an event and of its group to the spec and appends them to its name. */
int modifier_apply(struct list *list, struct attar_event_spec *spec, struct letters own,
	struct letters of_group);

#define MODIFIER_LETTERS "ukhGHpPSDeIW"

#endif
