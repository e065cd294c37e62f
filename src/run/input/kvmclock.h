/* SPDX-License-Identifier: MIT */
/*
 * The clock of a KVM guest on x86, kvmclock (Documentation/virt/kvm/x86/msr.rst): its time is
 *
 *	system_time + ((guest's TSC - tsc_timestamp) << tsc_shift) * tsc_to_system_mul / 2^32
 *
 * with numbers that KVM writes to the guest's memory, and to the event kvm:kvm_pvclock_update. The
 * guest's TSC is the TSC of the host, scaled and with an offset.
 */
#ifndef RUN_INPUT_KVMCLOCK_H
#define RUN_INPUT_KVMCLOCK_H

#include "base/base.h"

struct kvmclock;

/*
 * Finds the guest (see guest_find()), and waits until KVM writes the numbers for its first virtual
 * CPU. *stop: as attar_target_opts.stop; stop_fd is readable then.
 */
int kvmclock_new(const char *guest, const int *stop, int stop_fd, struct kvmclock **ret_clock);
struct kvmclock *kvmclock_free(struct kvmclock *k);

/* ns: the guest's clock at a time, CLOCK_MONOTONIC, at which the host's TSC has this value. */
uint64_t kvmclock_time(struct kvmclock *k, uint64_t time, uint64_t tsc);

#endif
