/* SPDX-License-Identifier: MIT */
/* The attributes of an event: their names, the form of their values, and what they set. */
#ifndef EVENT_ATTRIBUTES_H
#define EVENT_ATTRIBUTES_H

#include "event/list.h"

/* Whether there is an attribute of this name. */
bool attribute_is_known(const char *name);

/* Fails if the attribute is unknown, or if its value does not have the right form. */
int attribute_check(struct parser *parser, const struct attar_event_option *option);

/* Fails if one of n options has the name of the new one, which may be given only once. */
int attribute_check_repeated(struct parser *parser, const struct attar_event_option *options,
	size_t n, const struct attar_event_option *new);

/* Sets what the options of the list's spec i mean; they are checked. */
int attributes_apply(struct parser *parser, size_t i);

#endif
