/* SPDX-License-Identifier: MIT */
/* For tests of event texts: their parsed events, and the messages that refuse them. */
#ifndef EVENTS_H
#define EVENTS_H

#include "unit.h"

#include "attar/event.h"

/* Returns the events of a text; fails the test if it is refused. */
struct attar_event_list *events_parse(struct attar_catalog *catalog, const char *text);

/*
 * Fails the test unless the text is refused with exactly this code and message. A message that
 * starts with "column 5: " is expected without this, and with a caret below column 5 of the text.
 */
void events_refuse(struct attar_catalog *catalog, const char *text, int code, const char *expected);

#endif
