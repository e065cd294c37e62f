/* SPDX-License-Identifier: MIT */
#include "run/input/kvmclock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/stream.h"
#include "base/log.h"
#include "run/input/guest.h"

enum {
	UPDATES = 1024,       /* kept for events that are delivered later */
	WAIT_MS = 100,        /* between two looks at the rings */
	RING_BYTES = 1 << 18, /* of each CPU; KVM may write the numbers at each entry */
};

/* What KVM wrote at a time, and its conversion of the TSC at that time. */
struct update {
	uint64_t from; /* ns, CLOCK_MONOTONIC */
	uint64_t tsc_offset, tsc_timestamp, system_time;
	uint32_t mul;
	int32_t shift;
};

struct kvmclock {
	pid_t pid;
	struct attar_target *target;
	struct attar_stream *stream;
	uint64_t read_until; /* ns: events up to this time were read */
	uint64_t tsc_offset;
	bool has_offset;
	uint64_t ratio; /* of the guest's TSC to the host's, times 2^ratio_bits; 0: not scaled */
	unsigned ratio_bits;
	struct update updates[UPDATES]; /* update i at i modulo UPDATES */
	size_t n;                       /* ever written */
};

/* ---- events ---- */

static uint64_t number(
	const struct attar_format *format, const char *name, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_field *field = attar_format_field(format, name);

	return field ? attar_field_u64(field, s->raw, s->raw_size) : 0;
}

static void add_update(
	struct kvmclock *k, const struct attar_format *format, const struct attar_event *ev)
{
	k->updates[k->n++ % UPDATES] = (struct update){.from = ev->time,
		.tsc_offset = k->tsc_offset,
		.tsc_timestamp = number(format, "tsc_timestamp", ev),
		.system_time = number(format, "system_time", ev),
		.mul = (uint32_t)number(format, "tsc_to_system_mul", ev),
		.shift = (int8_t)number(format, "tsc_shift", ev)};
}

/* Only the first virtual CPU: the clocks of all are equal. */
static void kvmclock_see(struct kvmclock *k, const struct attar_event *ev)
{
	const struct attar_event_spec *spec = attar_stream_spec(k->stream, ev->counter);

	if (!spec || !spec->format || ev->record->type != PERF_RECORD_SAMPLE ||
		number(spec->format, "vcpu_id", ev) != 0)
		return;
	if (!strcmp(spec->format->name, "kvm_pvclock_update")) {
		add_update(k, spec->format, ev);
		return;
	}
	k->tsc_offset = number(spec->format, "next_tsc_offset", ev);
	k->has_offset = true;
}

/* Reads what has happened until now. */
static int read_events(struct kvmclock *k)
{
	uint64_t now = base_now();
	struct attar_event ev;
	int r;

	while ((r = attar_stream_next(k->stream, &ev)) > 0)
		kvmclock_see(k, &ev);
	k->read_until = now;
	return r;
}

/* ---- opening ---- */

static int read_tsc(struct kvmclock *k)
{
	int64_t offset, ratio, bits;
	int r = k->has_offset ? 0 : guest_read_vcpu(k->pid, 0, "tsc-offset", &offset);

	if (r < 0)
		return r;
	if (!k->has_offset) {
		k->tsc_offset = (uint64_t)offset;
		k->has_offset = true;
	}
	if (guest_read_vcpu(k->pid, 0, "tsc-scaling-ratio", &ratio) == 0 &&
		guest_read_vcpu(k->pid, 0, "tsc-scaling-ratio-frac-bits", &bits) == 0 && bits > 0 &&
		bits < 64 && ratio != INT64_C(1) << bits) {
		k->ratio = (uint64_t)ratio;
		k->ratio_bits = (unsigned)bits;
	}
	attar_error_clear(); /* CPUs that cannot scale the TSC have none of these files */
	return 0;
}

static int open_events(struct kvmclock *k, const int *stop)
{
	static const char events[] = "kvm:kvm_pvclock_update,kvm:kvm_write_tsc_offset";
	const struct attar_stream_events_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING_BYTES, .stop = stop};
	struct attar_target_opts target = {.size = sizeof(target), .stop = stop};
	char pid[16];
	int r;

	snprintf(pid, sizeof(pid), "%d", (int)k->pid);
	target.pids = pid;
	r = attar_target_new(&target, &k->target);
	return r < 0 ? r : attar_stream_events(k->target, events, 0, &opts, &k->stream);
}

/*
 * The numbers are written when the guest enables the clock, and later when its clock was set; by
 * some kernels every 5 minutes, and on hosts without a stable TSC at each entry.
 */
static int wait_for_update(struct kvmclock *k, int stop_fd)
{
	int r;

	log_note("--kvmclock: waiting until KVM updates the clock of the guest "
		 "(kvm:kvm_pvclock_update)");
	do {
		r = attar_stream_wait(k->stream, stop_fd, WAIT_MS);
		if (r == 2)
			return attar_fail(-ECANCELED,
				"stopped while waiting for "
				"kvm:kvm_pvclock_update: nothing was measured");
		if (r >= 0)
			r = read_events(k);
		if (r == 0 && !k->n && kill(k->pid, 0) < 0)
			return attar_fail(-ESRCH, "the guest, process %d, has exited", (int)k->pid);
	} while (r == 0 && !k->n);
	return r;
}

int kvmclock_new(const char *guest, const int *stop, int stop_fd, struct kvmclock **ret_clock)
{
	struct kvmclock *k = calloc(1, sizeof(*k));
	int r = k ? guest_find(guest, &k->pid) : base_oom();

	if (r == 0)
		r = open_events(k, stop);
	if (r == 0)
		r = read_events(k);
	if (r == 0)
		r = read_tsc(k);
	if (r == 0 && !k->n)
		r = wait_for_update(k, stop_fd);
	if (r < 0)
		kvmclock_free(k);
	else
		*ret_clock = k;
	return r == -ECANCELED || r == 0 ? r : attar_context(r, "--kvmclock");
}

struct kvmclock *kvmclock_free(struct kvmclock *k)
{
	if (!k)
		return NULL;
	attar_stream_free(k->stream);
	attar_target_free(k->target);
	free(k);
	return NULL;
}

/* ---- conversion ---- */

static const struct update *update_at(const struct kvmclock *k, uint64_t time)
{
	size_t i = k->n - 1, oldest = k->n > UPDATES ? k->n - UPDATES : 0;

	while (i > oldest && k->updates[i % UPDATES].from > time)
		i--;
	return &k->updates[i % UPDATES];
}

/* x * 2^shift * mul / 2^32, also of a negative x: before the update. */
static int64_t scale(int64_t x, int32_t shift, uint32_t mul)
{
	__int128 y = x;

	y = shift >= 0 ? y * ((__int128)1 << shift) : y / ((__int128)1 << -shift);
	return (int64_t)(y * mul / ((__int128)1 << 32));
}

uint64_t kvmclock_time(struct kvmclock *k, uint64_t time, uint64_t tsc)
{
	const struct update *u;

	if (time > k->read_until)
		read_events(k); /* without memory, the clock goes on as before */
	u = update_at(k, time);
	if (k->ratio)
		tsc = (uint64_t)((unsigned __int128)tsc * k->ratio >> k->ratio_bits);
	return u->system_time +
	       (uint64_t)scale((int64_t)(tsc + u->tsc_offset - u->tsc_timestamp), u->shift, u->mul);
}
