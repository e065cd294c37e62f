/* SPDX-License-Identifier: MIT */
/*
 * Exits of KVM guests, from kvm:kvm_exit to kvm:kvm_entry of the same thread, and tables of them by
 * reason, and by thread or process.
 *
 *	struct kvm_exits must be the first member of the profiler's state: kvm_exits_lost(),
 *	kvm_exits_exited() and kvm_exits_emits() are functions of its descriptor.
 */
#ifndef PROFILERS_KVM_KVM_EXITS_H
#define PROFILERS_KVM_KVM_EXITS_H

#include "attar/run.h"
#include "lib/heatmap.h"

/* Sums of a row; sums of the profiler follow. */
enum { KVM_TOTAL, KVM_SUMS };

struct kvm_exit {
	uint64_t reason;  /* the instruction set in the upper half */
	uint64_t address; /* of the guest's next instruction */
	uint64_t time;
	uint64_t vcpu; /* KVM_NO_VCPU: not known */
};

#define KVM_NO_VCPU UINT64_MAX

/* How rows are grouped, besides by reason. */
enum kvm_by { KVM_BY_REASON, KVM_BY_PROCESS, KVM_BY_THREAD };

struct kvm_exits {
	/* set by the profiler */
	const char *filter; /* of kvm:kvm_exit; NULL: none */
	const char *heatmap_path;
	enum kvm_by by;
	bool selects; /* events of all tasks are delivered: attar_run_select_tasks() */
	/* Called when an exit begins; may be NULL. */
	int (*begins)(void *self, const struct attar_event *ev);
	/* Called when an exit ends; returns 1 if it is to be emitted to another profiler. */
	int (*ends)(struct attar_run *run, void *self, const struct attar_event *ev,
		const struct kvm_exit *exit, uint64_t latency);

	char *event;
	struct attar_input inputs[3];
	struct attar_pairs *pairs;
	struct attar_keytable *table;
	struct attar_expr *name; /* of a reason */
	struct heatmap *heatmap;
};

/* n_sums: of each row, KVM_SUMS and the sums of the profiler. */
int kvm_exits_open(struct attar_run *run, struct kvm_exits *k, size_t n_sums);
void kvm_exits_close(struct kvm_exits *k);

attar_event_fn kvm_exits_lost, kvm_exits_exited, kvm_exits_emits;

/* For attar_profiler.ended. */
int kvm_exits_ended(struct attar_run *run, void *self);

/* Whether the guest waits for an interrupt: the length of the exit depends on the guest. */
bool kvm_exit_is_idle(const struct kvm_exit *exit);

enum { KVM_NAME_BYTES = 64 };

/* The name of a reason, and a cell with it. */
void kvm_exit_name(const struct kvm_exits *k, uint64_t reason, char text[KVM_NAME_BYTES]);
/* Adds an exit to its row, whose further sums the caller adds to; NULL: out of memory. */
struct attar_keyrow *kvm_exits_add(struct kvm_exits *k, const struct attar_thread *thread,
	const struct kvm_exit *exit, uint64_t latency);

/* Adds the table "exits" to the report. columns() and cells() add what the profiler has. */
int kvm_exits_report(const struct attar_run *run, struct kvm_exits *k, struct attar_report *report,
	enum attar_scope scope, void (*columns)(struct attar_section *table),
	void (*cells)(struct attar_section *table, const struct attar_keysums *sums));

/* The first columns of a line for an exit, and their cells: time to latency. */
void kvm_exit_line_columns(struct attar_section *lines);
void kvm_exit_line_cells(struct attar_run *run, const struct kvm_exits *k,
	struct attar_section *lines, const struct attar_event *ev, const struct kvm_exit *exit,
	uint64_t latency);

#endif
