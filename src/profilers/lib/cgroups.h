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

/* The group of a process, "/name/name". False: unknown, or the controller has no hierarchy. */
bool cgroups_group(pid_t pid, const char *controller, char *ret_group, size_t size);

/*
 * "control group NAME uses 39 of the 40 MB of memory that it may use". False: it uses less than
 * 95 % of its limit, or has none.
 */
bool cgroups_memory_is_full(pid_t pid, char *ret_text, size_t size);

/* "control group NAME has the limit write_iops 7:0 10". False: there is none. */
bool cgroups_io_limit(pid_t pid, char *ret_text, size_t size);

/* The systemd service or the container of a process: the name of its group. False: in none. */
bool cgroups_service(pid_t pid, char *ret_name, size_t size);

enum { CPU_LIMIT_GROUP_BYTES = 128 };

/* In how much of the time a task of a group had to wait for memory, so far, us. */
struct group_pressure {
	uint64_t memory;
	char group[CPU_LIMIT_GROUP_BYTES];
};

/*
 * The pressure stall information of the group of a process in the hierarchy of version 2. False:
 * the kernel has none, or the process is in no group.
 */
bool cgroups_pressure(pid_t pid, struct group_pressure *ret_pressure);

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
