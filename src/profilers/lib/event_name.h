/* SPDX-License-Identifier: MIT */
/* Names of events in languages that have no colons: tables of SQL, variables of conditions. */
#ifndef PROFILERS_LIB_EVENT_NAME_H
#define PROFILERS_LIB_EVENT_NAME_H

#include "attar/event.h"

/*
 * The alias of an event, or its name from the last part on: "sched_switch", "sys_enter_write:k",
 * "page-faults:u". Borrowed from the spec.
 */
const char *event_name_bare(const struct attar_event_spec *spec);

#endif
