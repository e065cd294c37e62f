/* SPDX-License-Identifier: MIT */
/* A live stream from the inside. */
#ifndef STREAM_LIVE_H
#define STREAM_LIVE_H

#include "attar/stream.h"
#include "base/map.h"
#include "stream/defer.h"
#include "stream/inlet.h"
#include "stream/merge.h"
#include "stream/procs.h"

enum { LOOK_MS = 100 }; /* a blocking read looks for records below the watermark */

struct attar_stream {
	unsigned process; /* that created it, see base/check.h */
	struct attar_target *target;
	struct attar_counter **counters;
	struct attar_layout *layouts; /* one for each counter */
	uint32_t *numbers;            /* of each, as events carry it */
	bool has_added;               /* they are not simply counted */
	size_t n_counters;
	struct attar_ring **rings;
	struct cursor *cursors; /* one for each ring */
	size_t n_rings;
	struct merge merge;
	struct map ids; /* the kernel's event ids -> counter */
	uint64_t last_id;
	uint32_t last_counter;
	struct procs procs;
	struct defer defer;
	struct attar_record record; /* the one being delivered */
	struct attar_stream_stats stats;
	uint64_t lost_recorded; /* by LOST records */
	uint64_t horizon;       /* ns: deliver up to here */
	uint64_t newest;        /* ns: the newest time in sight */
	uint64_t delivered;     /* ns: the newest time delivered */
	uint64_t looked;        /* ns: when CPUs were looked for */
	uint64_t start_time;    /* ns: samples from before it are early */
	bool in_round;
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
	uint32_t run_min;   /* bytes of a sample */
	uint32_t run_counter;
	int epoll_fd;
	int caller_fd;             /* in it, of attar_stream_wait(); -1: none */
	struct attar_inlet *inlet; /* NULL: none */
	uint64_t inlet_horizon;    /* ns: its events up to here are in sight */
	uint64_t inlet_since;      /* the same, of the round before */
	uint64_t inlet_lost;
	bool told_full; /* its programs have told of more threads than the table takes */
};

/* The fd wakes the stream up too. */
int stream_watch(struct attar_stream *s, int fd);

/* And so does the end of a watched process. */
int stream_watch_target(struct attar_stream *s);

/* Waits as attar_stream_wait() says, but for fds that are watched already; -EINTR when a signal came. */
int stream_poll(struct attar_stream *s, int fd, int timeout_ms);

/* CPUs that have come online are watched too, within LOOK_MS. 0 or a negative errno. */
int stream_follow_cpus(struct attar_stream *s);

#endif
