/* SPDX-License-Identifier: MIT */
/* A live stream from the inside. */
#ifndef STREAM_LIVE_H
#define STREAM_LIVE_H

#include "attar/stream.h"
#include "base/map.h"
#include "stream/deferred_callchain.h"
#include "stream/shm_source.h"
#include "stream/merge.h"
#include "stream/procs.h"

enum {
	LOOK_MS = 100, /* a blocking read looks for records below the watermark */
	RECENT_IDS = 64,
};

#define NO_COUNTER UINT32_MAX /* an index: no counter of the stream has the id */

/* How the counts of a counter compare with its samples, see missing.c. */
struct account {
	uint64_t since; /* ns: samples from here on are compared */
	bool unfit;     /* they cannot be compared */
};

struct attar_stream {
	unsigned process; /* that created it, see base/check.h */
	struct attar_target *target;
	struct attar_counter **counters;
	struct attar_layout *layouts; /* one for each counter */
	uint32_t *numbers;            /* of each, as events carry it */
	struct account *accounts;     /* of each */
	bool has_added;               /* they are not simply counted */
	size_t n_counters;
	struct attar_ring **rings;
	struct cursor *cursors; /* one for each ring */
	size_t n_rings;
	struct merge merge;
	size_t side;    /* index of the counter that writes side-band records; SIZE_MAX: none */
	struct map ids; /* the kernel's event ids -> counter */
	/* ids that were looked up, each at its remainder */
	struct {
		uint64_t id;
		uint32_t counter;
	} recent_ids[RECENT_IDS];
	struct procs procs;
	struct deferred_callchains defer;
	struct attar_record record; /* the one being delivered */
	struct attar_stream_stats stats;
	uint64_t lost_recorded; /* by LOST records that the events of samples wrote */
	uint64_t lost_side;     /* by those that the side-band event wrote */
	uint64_t lost_in_pmu;   /* by LOST_SAMPLES records: no ring had a part in it */
	uint64_t horizon;       /* ns: deliver up to here */
	uint64_t newest;        /* ns: the newest time in sight */
	uint64_t delivered;     /* ns: the newest time delivered */
	uint64_t looked;        /* ns: when CPUs were looked for */
	uint64_t start_time;    /* ns: samples from before it are early */
	bool in_round;
	bool last_round; /* it began after the stop: there are no later records */
	bool drained;    /* and it is over */
	bool settled;    /* what is missing has been found */
	VEC(struct attar_cpu_count) missing;
	bool front_done; /* the record in front was delivered: it goes at the next call */
	bool started, stopped, has_clock;
	bool frozen;       /* a snapshot is being delivered */
	bool fd_given;     /* the caller polls by itself */
	pid_t skipped_pid; /* whose samples are not delivered: our own, or nobody's */
	/* The straight way through a run of alike samples of one ring, see follow() in rounds.c. */
	struct cursor *run;                      /* NULL: there is none */
	const char *run_from, *run_at, *run_end; /* its bytes; what was passed of them */
	uint64_t run_limit; /* ns: up to here nothing of another ring comes first */
	uint64_t run_type;  /* sample_type */
	uint64_t run_id;    /* of the newest sample */
	uint64_t run_since; /* stats.samples when it began */
	uint32_t run_min;   /* bytes of a sample */
	uint32_t run_counter;
	int epoll_fd;
	int caller_fd;                       /* in it, of attar_stream_wait(); -1: none */
	struct attar_shm_source *shm_source; /* NULL: none */
	uint64_t shm_source_horizon;         /* ns: its events up to here are in sight */
	uint64_t shm_source_since;           /* the same, of the round before */
	uint64_t shm_source_lost;
	bool told_full; /* its programs have told of more threads than the table takes */
};

/*
 * Opens the event that writes side-band records for a stream on the target, whose first counter
 * (NULL: none) says when it is enabled; overwritten: in the same rings as counters that are written
 * backward. 0, and NULL when nobody is left to watch; or a negative errno.
 */
int sideband_open(struct attar_target *target, const struct attar_counter *first, bool overwritten,
	struct attar_counter **ret_counter);

/* The counter begins to be compared with its samples. 0 or -ENOMEM. */
int missing_begin(struct attar_stream *s, size_t counter);

/* Tallies of so many counters for the rings from number first_ring on. 0 or -ENOMEM. */
int missing_grow(struct attar_stream *s, size_t first_ring, size_t n_counters);

/* Once the stream is drained: compares all. losses_counted: the kernel counts lost records. */
void missing_settle(struct attar_stream *s, bool losses_counted);

/* Forgets the looked up ids: a counter may have got new ones. */
void stream_forget_ids(struct attar_stream *s);

/* The fd wakes the stream up too. */
int stream_watch(struct attar_stream *s, int fd);

/* And so does the end of a watched process. */
int stream_watch_target(struct attar_stream *s);

/*
 * Waits as attar_stream_wait() says, but for fds that are watched already; -EINTR when a signal
 * came.
 */
int stream_poll(struct attar_stream *s, int fd, int timeout_ms);

/* CPUs that have come online are watched too, within LOOK_MS. 0 or a negative errno. */
int stream_follow_cpus(struct attar_stream *s);

#endif
