/* SPDX-License-Identifier: MIT */
/* The options of a run: their tables and the values of the common ones. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "attar/run.h"
#include "base/options.h"

enum {
	RUN_PAGE_BYTES = 4096,   /* the unit of -m, whatever the size of the machine's pages */
	RUN_DEFAULT_PAGES = 128, /* of each ring */
	RUN_STACK_PAGES = 2048,  /* the same, if samples have copies of stacks */
};

/* The options that all profilers share, see common_options.c. */
struct common_opts {
	/* targets */
	const char *cpus, *pids, *tids, *cgroups;
	const char *comms, *containers, *pods, *units, *ports; /* see run/parts/target_names.h */
	const char *recorded_cgroups;                          /* --cgroups, with --input */
	bool all_cpus;
	bool no_children;  /* of pids and the command */
	bool no_inherit;   /* the same where there are any: accepted for scripts */
	const char *input; /* a recording */
	/* the part of the recording, see run/input/range.h */
	const char *from, *to, *at;
	uint64_t for_ns;
	/* other machines */
	const char *push;
	struct attar_texts pulls;
	const char *pull; /* the only one of them; NULL: none, or several, see run/input/hosts.h */
	const char *peer_psk, *peer_cert, *peer_key, *peer_ca;
	/* sampling */
	const char *event;
	uint64_t freq;
	bool exclude_user, exclude_kernel, exclude_host, exclude_guest;
	const char *exclude_pid, *irqs_disabled, *tif_need_resched;
	const char *nr_running_min, *nr_running_max, *sched_policy, *prio; /* not supported */
	bool allow_exec;
	int user_callchain, kernel_callchain; /* switches */
	const char *unwind;
	uint64_t unwind_memory; /* bytes; 0: the default */
	bool inline_functions, lines, java_map;
	/* duration and limits */
	uint64_t interval, duration; /* ns */
	uint64_t count;              /* events, 0: no limit */
	const char *btf;             /* a file with the kernel's types; NULL: the running one's */
	uint64_t probes;             /* functions that a pattern may match, 0: the default */
	/* ring buffers */
	uint64_t mmap_pages;   /* 0: the default */
	uint64_t buffer;       /* bytes of events that wait to be printed */
	double watermark;      /* percent of a ring; 0: see run/rings.c */
	const char *in_kernel; /* auto, yes, no; NULL: auto */
	/* attar itself */
	uint64_t usage_self; /* ns */
	uint64_t sampling_limit;
	const char *perfeval_cpus, *perfeval_pids;
	bool order, inherit; /* always so: accepted for scripts */
	bool monotonic, tsc; /* the clock of times that are shown */
	const char *clock_offset;
	const char *kvmclock; /* a guest, see guest_find() */
};

extern const struct attar_option common_target_options[];
extern const struct attar_option common_sampling_options[];
extern const struct attar_option common_unwind_options[];
extern const struct attar_option common_stack_options[];
extern const struct attar_option common_run_options[];
extern const struct attar_option common_ring_options[];
extern const struct attar_option common_input_options[];
extern const struct attar_option common_peer_options[];
void common_defaults(struct common_opts *opts);

#endif
