/* SPDX-License-Identifier: MIT */
/* For tests of event texts: what they are parsed to, and the sentences that refuse them. */
#ifndef EVENTS_H
#define EVENTS_H

#include "unit.h"

#include "attar/event.h"

/* The events of a text; fails the test when it is refused. */
struct attar_event_list *events_parse(struct attar_catalog *catalog, const char *text);

/* Fails the test unless the text is refused with exactly this code and sentence. */
void events_refuse(struct attar_catalog *catalog, const char *text, int code, const char *sentence);

#endif
