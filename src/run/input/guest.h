/* SPDX-License-Identifier: MIT */
/* A KVM guest of this machine: its process, and the threads that run its virtual CPUs. */
#ifndef RUN_INPUT_GUEST_H
#define RUN_INPUT_GUEST_H

#include "attar/builtin.h"
#include "attar/profiler.h"
#include "base/vec.h"

/*
 * Finds the process of a guest. text is its ID, or the UUID that it was started with (QEMU's and
 * libvirt's option -uuid). -ESRCH: there is none; -EINVAL: it runs no guest.
 */
int guest_find(const char *text, pid_t *ret_pid);

/* Reads a number in a file of KVM about a virtual CPU, such as "tsc-offset"; a negative errno. */
int guest_read_vcpu(pid_t pid, int vcpu, const char *file, int64_t *ret_value);

/*
 * Lists the threads that run the virtual CPUs, by number; tid 0: unknown. -ESRCH: all are unknown.
 * Free the list with vec_done(), also on failure.
 */
typedef VEC(struct attar_vcpu) guest_vcpus;
int guest_list_vcpus(pid_t pid, guest_vcpus *vcpus);

#endif
