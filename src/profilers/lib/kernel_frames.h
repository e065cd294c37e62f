/* SPDX-License-Identifier: MIT */
/*
 * What is known of a stack by the functions of the kernel in it: why a thread waits, or what it
 * does on a CPU. Each location is resolved once.
 */
#ifndef PROFILERS_LIB_KERNEL_FRAMES_H
#define PROFILERS_LIB_KERNEL_FRAMES_H

#include "attar/run.h"
#include "lib/left_out.h"

enum frame_mark {
	FRAME_NONE,
	/* waiting */
	FRAME_DISK,  /* for a block device or a file system */
	FRAME_LOCK,  /* for a lock of the kernel or of a file */
	FRAME_FUTEX, /* for a lock or a condition of programs */
	FRAME_SLEEP, /* for a time */
	FRAME_WORK,  /* for something to do: events, connections, children */
	FRAME_PEER,  /* for another program: pipes, sockets, message queues */
	/* on a CPU */
	FRAME_SPIN,  /* on a lock of the kernel */
	FRAME_FAULT, /* in a page fault */
	FRAME_IRQ,   /* in an interrupt */
	/* whose code it is */
	FRAME_PERF,    /* of the events of attar and other profilers, not of the thread */
	FRAME_SYSCALL, /* frames_syscall() has the name */
	FRAME_KTHREAD,
	/* of user code: Go's runtime */
	FRAME_GO_FUTEX,
	FRAME_GO_NOTE,  /* waits for a note: until another thread has something for it */
	FRAME_GO_STOPS, /* waits until the others stop */
};

struct frames;

/* symbols is borrowed until frames_free(). NULL: out of memory. */
struct frames *frames_new(struct attar_symbols *symbols);
void frames_free(struct frames *frames);

/* The name of the system call of a FRAME_SYSCALL location: "read". Valid until the next call. */
const char *frames_syscall(struct frames *frames, attar_location location);

/* The state of a thread by the kernel's part of a stack: n locations, the innermost first. */
struct frame_summary {
	enum frame_mark waits;  /* the innermost mark of waiting */
	enum frame_mark runs;   /* the innermost of FRAME_SPIN to FRAME_IRQ */
	attar_location syscall; /* of FRAME_SYSCALL; 0: none */
	bool is_kernel_thread;
	bool is_perf;   /* as frames_are_of_perf() */
	bool has_names; /* at least one function has a name */
};

void frames_read(struct frames *frames, const attar_location *stack, size_t n,
	struct frame_summary *ret_summary);

/*
 * Whether the kernel works for events of perf_event_open(2) in this stack: it copies them for a new
 * thread, removes the events of one that exits, or writes records of names and mappings. They are
 * events of attar or of another profiler that watches the thread, so the thread has not caused the
 * time and the allocations.
 */
bool frames_are_of_perf(struct frames *frames, const attar_location *stack, size_t n);

/*
 * Whether a thread of Go's runtime that waits for a futex has nothing to run: it does not wait for
 * a lock. Resolves symbols of user code, each once; futex_may_be_idle() shows when it is needed.
 */
bool frames_are_idle_go(struct frames *frames, const attar_location *stack, size_t n);

/* Add a remark on what was left out because of these functions. */
void left_out_remark_perf(
	struct left_out *waits, struct attar_report *report, enum attar_scope scope);
void left_out_remark_go(
	struct left_out *waits, struct attar_report *report, enum attar_scope scope);
void left_out_remark_allocations(
	struct left_out *allocations, struct attar_report *report, enum attar_scope scope);

/*
 * Adds the next outer function of a stack that is known by names. Zeroed: no function yet. Returns
 * a label with the name.
 */
attar_location frames_add_name(
	struct frames *frames, struct frame_summary *summary, const char *name);

#endif
