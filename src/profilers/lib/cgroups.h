/* SPDX-License-Identifier: MIT */
/* Control groups: their hierarchies, and how much CPU time a group may use. */
#ifndef PROFILERS_LIB_CGROUPS_H
#define PROFILERS_LIB_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the hierarchy with a controller is mounted: of v1 if that has it, otherwise v2. */
bool cgroups_hierarchy(const char *controller, char *ret_path, size_t size, bool *ret_v1);

/* The systemd service or the container of a process: the name of its group. False: in none. */
bool cgroups_service(pid_t pid, char *ret_name, size_t size);

enum { CPU_LIMIT_GROUP_BYTES = 128 };

struct cpu_limit {
	double cpus;
	uint64_t periods, throttled; /* so far; in throttled ones, all of the time was used */
	char group[CPU_LIMIT_GROUP_BYTES];
};

/*
 * The limit of the innermost group whose time was up: the group of the process, or one that
 * contains it. False: there is none.
 */
bool cgroups_cpu_limit(pid_t pid, struct cpu_limit *ret_limit);

#endif
