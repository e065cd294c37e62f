/* SPDX-License-Identifier: MIT */
/* Why the kernel refused the filter of an event: it only reports EINVAL. */
#ifndef RUN_FILTER_ERROR_H
#define RUN_FILTER_ERROR_H

#include "attar/event.h"

/*
 * Sets an error text for the filter, which attar_counter_filter() refused with -EINVAL;
 * spec->filter may be a part of it. Keeps the current text if the event has no fields. Returns
 * -EINVAL or -ENOMEM.
 */
int filter_refused(const struct attar_event_spec *spec, const char *filter);

#endif
