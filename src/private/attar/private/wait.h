/* SPDX-License-Identifier: MIT */
/*
 * What attar/wait.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_WAIT_H
#define ATTAR_PRIVATE_WAIT_H

#include "attar/wait.h"

/*
 * ns of CLOCK_MONOTONIC: since when a thread that waits has been on no CPU, from /proc/TID/sched,
 * however long ago it was. The wait is at least as long: the part of it in which interrupts or the
 * hypervisor took the time of the CPU is missing. 0: unknown, as on kernels without this file.
 */
uint64_t waits_get_since(struct attar_waits *waits, pid_t tid);

/* The thread that is read next, and its process: the kernel finds its files faster. */
void waits_set_thread(struct attar_waits *waits, pid_t pid, pid_t tid);

/*
 * Whether the thread waits for something to do, or a time to pass, as a thread without work does;
 * not for somebody who works for it. A condition may be either.
 */
bool wait_is_idle(const struct attar_wait *wait);

#endif
