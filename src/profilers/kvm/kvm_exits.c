/* SPDX-License-Identifier: MIT */
#include "kvm/kvm_exits.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/keys.h"
#include "lib/task_by.h"

/* As in the field isa of kvm:kvm_exit; on arm64 there is no such field. */
enum { ISA_VMX = 1, ISA_SVM, ISA_ARM };
/* On arm64 only exits by a trap have an exception class; see exit_reason_str() for the others. */
enum { ARM_TRAP = 2, ARM_NO_TRAP = 0x100, ARM_CODES = 0xff };

struct row_key {
	uint64_t reason;
	struct keys_thread task; /* its number can be the number of a process; 0: all */
};

struct row_label {
	int64_t pid;
};

/* ---- events ---- */

enum { REASON, ADDRESS, ISA, RET, VCPU };

static uint64_t reason_of(const struct attar_event *ev)
{
	uint64_t ret = attar_arg_u64(ev, RET), isa = attar_arg_u64(ev, ISA);

	if (attar_arg_exists(ev, ISA))
		return isa << 32 | (uint32_t)attar_arg_u64(ev, REASON);
	isa = (uint64_t)ISA_ARM << 32;
	ret &= ARM_CODES;
	return ret == ARM_TRAP ? isa | attar_arg_u64(ev, REASON) : isa | ARM_NO_TRAP | ret;
}

static bool is_wanted(
	const struct kvm_exits *k, struct attar_run *run, const struct attar_event *ev)
{
	if (!k->selects || attar_run_is_selected(run, ev->thread))
		return true;
	attar_run_pass_over(run);
	return false;
}

static int on_exit_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kvm_exits *k = self;
	struct attar_stamp at = attar_event_get_stamp(ev);
	struct attar_start *start;

	if (!is_wanted(k, run, ev))
		return 0;
	start = attar_pairs_start_u64(k->pairs, at.task, &at);
	if (!start)
		return 0;
	*(struct kvm_exit *)start->payload = (struct kvm_exit){.reason = reason_of(ev),
		.address = attar_arg_u64(ev, ADDRESS),
		.time = ev->time,
		.vcpu = attar_arg_exists(ev, VCPU) ? attar_arg_u64(ev, VCPU) : KVM_NO_VCPU};
	return k->begins ? k->begins(self, ev) : 0;
}

static int on_entry(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kvm_exits *k = self;
	struct attar_stamp at = attar_event_get_stamp(ev);
	const struct attar_start *start;
	uint64_t latency;
	int r = 0;

	if (!is_wanted(k, run, ev))
		return 0;
	start = attar_pairs_end_u64(k->pairs, at.task, &at);
	if (!start || !attar_run_is_cpu_selected(run, at.cpu))
		return 0;
	latency = at.time - start->time;
	if (k->heatmap)
		r = heatmap_add(k->heatmap, "kvm_exit", NULL, start->time, latency);
	return r == 0 ? k->ends(run, self, ev, start->payload, latency) : r;
}

/* An exit is emitted at the entry that ends it. */
int kvm_exits_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return ev->counter == 0 ? on_exit_event(run, self, ev) : on_entry(run, self, ev);
}

int kvm_exits_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct kvm_exits *k = self;

	(void)run;
	attar_pairs_lost(k->pairs, (int)ev->cpu, ev->lost_from, ev->lost_to);
	return 0;
}

int kvm_exits_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct kvm_exits *k = self;

	(void)run;
	if (ev->thread)
		attar_pairs_exit(k->pairs, ev->thread->serial);
	return 0;
}

int kvm_exits_ended(struct attar_run *run, void *self)
{
	struct kvm_exits *k = self;

	(void)run;
	attar_pairs_close(k->pairs);
	return 0;
}

bool kvm_exit_is_idle(const struct kvm_exit *exit)
{
	switch (exit->reason) {
	case (uint64_t)ISA_VMX << 32 | 12:   /* HLT */
	case (uint64_t)ISA_SVM << 32 | 0x78: /* hlt */
	case (uint64_t)ISA_ARM << 32 | 1:    /* WFx */
		return true;
	default:
		return false;
	}
}

/* ---- tables ---- */

struct attar_keyrow *kvm_exits_add(struct kvm_exits *k, const struct attar_thread *thread,
	const struct kvm_exit *exit, uint64_t latency)
{
	struct row_key key = {.reason = exit->reason};
	int64_t pid = thread->process ? thread->process->pid : thread->tid;
	struct attar_keyrow *row;
	struct row_label *label;

	if (k->by == KVM_BY_THREAD)
		key.task =
			keys_make_thread(thread, thread->tid, thread->comm, strlen(thread->comm));
	else if (k->by == KVM_BY_PROCESS)
		key.task.tid = pid;
	row = attar_keytable_at(k->table, &key, sizeof(key));
	if (!row || attar_hist_add(&row->interval.hists[0], latency) < 0)
		return NULL;
	row->interval.sums[KVM_TOTAL] += latency;
	label = row->value;
	label->pid = pid;
	return row;
}

void kvm_exit_name(const struct kvm_exits *k, uint64_t reason, char text[KVM_NAME_BYTES])
{
	const struct attar_expr_value variables[] = {
		{.number = reason >> 32}, {.number = (uint32_t)reason}};
	const struct attar_expr_record record = {.variables = variables};
	struct attar_expr_value name;

	attar_expr_eval(k->name, &record, &name);
	snprintf(text, KVM_NAME_BYTES, "%.*s", (int)name.len, name.bytes ? name.bytes : "");
}

static void kvm_exit_add_name(
	const struct kvm_exits *k, struct attar_section *section, uint64_t reason)
{
	char text[KVM_NAME_BYTES];

	kvm_exit_name(k, reason, text);
	attar_cell_text(section, text);
}

static void add_columns(const struct kvm_exits *k, struct attar_section *table)
{
	static const char *const times[] = {"total", "min", "avg", "p99", "max"};

	if (k->by != KVM_BY_REASON)
		attar_section_column(table, "pid", ATTAR_UNIT_ID);
	if (k->by == KVM_BY_THREAD) {
		attar_section_column(table, "tid", ATTAR_UNIT_ID);
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	}
	attar_section_column(table, "exit_reason", ATTAR_UNIT_TEXT);
	attar_section_column(table, "calls", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		attar_section_column(table, times[i], ATTAR_UNIT_NS);
}

static void add_row(const struct kvm_exits *k, struct attar_section *table,
	const struct attar_keyrow *row, const struct attar_hist *hist)
{
	const struct row_key *key = row->key;
	const struct row_label *label = row->value;

	attar_section_row(table);
	if (k->by != KVM_BY_REASON)
		attar_cell_i64(table, key ? label->pid : -1);
	if (k->by == KVM_BY_THREAD) {
		attar_cell_i64(table, key ? task_by_id(key->task.tid) : -1);
		attar_cell_text(table, key ? key->task.comm : "");
	}
	if (key)
		kvm_exit_add_name(k, table, key->reason);
	else
		attar_cell_text(table, "[others]");
	attar_cell_u64(table, hist->count);
	attar_cell_u64(table, attar_hist_sum(hist));
	attar_cell_u64(table, hist->min);
	attar_cell_u64(table, (uint64_t)attar_hist_mean(hist));
	attar_cell_u64(table, attar_hist_quantile(hist, 0.99));
	attar_cell_u64(table, hist->max);
}

/* The module of KVM for the CPU, such as "kvm_intel"; false: there is none, as on arm64. */
static bool find_module(char name[NAME_MAX + 1])
{
	DIR *modules = opendir("/sys/module");
	const struct dirent *entry;
	bool found = false;

	while (modules && !found && (entry = readdir(modules))) {
		found = !strncmp(entry->d_name, "kvm_", 4);
		snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
	}
	if (modules)
		closedir(modules);
	return found;
}

/* The module of an unusual hypervisor can run guests without tracing them. */
static void remark_nothing(const struct attar_run *run, struct attar_report *report)
{
	char module[NAME_MAX + 1];

	if (!attar_run_is_live(run))
		attar_report_remark(report, "no exits: no KVM guest ran during the recording");
	else if (find_module(module) && strcmp(module, "kvm_intel") && strcmp(module, "kvm_amd"))
		attar_report_remark(report,
			"no exits: no watched KVM guest ran, or the module '%s' does not emit "
			"kvm:kvm_exit",
			module);
	else
		attar_report_remark(report, "no exits: no watched KVM guest ran");
}

static void add_remarks(const struct attar_run *run, struct kvm_exits *k,
	struct attar_report *report, enum attar_scope scope)
{
	struct attar_pairs_stats stats;

	attar_pairs_get_stats(k->pairs, &stats);
	if (!stats.starts && !stats.ends)
		remark_nothing(run, report);
	if (scope == ATTAR_SCOPE_INTERVAL)
		attar_pairs_get_interval(k->pairs, &stats);
	else
		attar_pairs_get_stats(k->pairs, &stats);
	if (k->filter) /* entries after exits that do not pass it */
		stats.unpaired[ATTAR_UNPAIRED_END] = stats.unpaired[ATTAR_UNPAIRED_END_LOST] = 0;
	attar_report_unpaired(report, &stats, "exits");
	attar_report_evicted(report, k->table, "reasons");
}

int kvm_exits_report(const struct attar_run *run, struct kvm_exits *k, struct attar_report *report,
	enum attar_scope scope, void (*columns)(struct attar_section *table),
	void (*cells)(struct attar_section *table, const struct attar_keysums *sums))
{
	struct attar_section *table = attar_report_table(report, "exits");
	int r = attar_keytable_end_interval(k->table);
	size_t n = attar_keytable_keys(k->table);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(*rows));

	if (r < 0 || !rows) {
		free(rows);
		return -ENOMEM;
	}
	add_columns(k, table);
	columns(table);
	n = attar_keytable_top(k->table, scope, KVM_TOTAL, rows, n);
	if (attar_keyrow_sums(attar_keytable_others(k->table), scope)->hists[0].count)
		rows[n++] = attar_keytable_others(k->table);
	for (size_t i = 0; i < n; i++) {
		const struct attar_keysums *sums = attar_keyrow_sums(rows[i], scope);

		add_row(k, table, rows[i], &sums->hists[0]);
		cells(table, sums);
	}
	free(rows);
	add_remarks(run, k, report, scope);
	return 0;
}

/* ---- lines ---- */

void kvm_exit_line_columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "vcpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "exit_reason", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "guest_ip", ATTAR_UNIT_HEX);
	attar_section_column(lines, "latency", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

void kvm_exit_line_cells(struct attar_run *run, const struct kvm_exits *k,
	struct attar_section *lines, const struct attar_event *ev, const struct kvm_exit *exit,
	uint64_t latency)
{
	attar_run_event_row(run, lines, ev, exit->time);
	if (exit->vcpu == KVM_NO_VCPU)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, exit->vcpu);
	kvm_exit_add_name(k, lines, exit->reason);
	attar_cell_u64(lines, exit->address);
	attar_cell_u64(lines, latency);
}

/* ---- life ---- */

static int make_inputs(struct kvm_exits *k)
{
	if (asprintf(&k->event, "kvm:kvm_exit%s%s%s", k->filter ? "/" : "",
		    k->filter ? k->filter : "", k->filter ? "/" : "") < 0) {
		k->event = NULL;
		return -ENOMEM;
	}
	k->inputs[0] = (struct attar_input){.event = k->event,
		.fields = {"exit_reason|esr_ec", "guest_rip|vcpu_pc", "?isa", "?ret", "?vcpu_id"},
		.on_event = on_exit_event};
	k->inputs[1] = (struct attar_input){.event = "kvm:kvm_entry", .on_event = on_entry};
	return 0;
}

int kvm_exits_open(struct attar_run *run, struct kvm_exits *k, size_t n_sums)
{
	static const struct attar_expr_variable variables[] = {{.name = "isa"}, {.name = "reason"}};
	const struct attar_expr_opts names = {
		.size = sizeof(names), .n_variables = 2, .variables = variables};
	const struct attar_pairs_opts pairs = {
		.size = sizeof(pairs), .payload_size = sizeof(struct kvm_exit)};
	const struct attar_keytable_opts table = {.size = sizeof(table),
		.sums = n_sums,
		.hists = 1,
		.key_max = sizeof(struct row_key),
		.value_size = sizeof(struct row_label)};
	int r = make_inputs(k);

	attar_run_all_cpus(run, true);
	if (r == 0) /* in this order, see kvm_exits_emits() */
		r = attar_run_inputs(run, k->inputs);
	if (r == 0)
		r = attar_run_expr(run, 0, "exit_reason_str(isa, reason)", &names, &k->name);
	if (r == 0)
		r = attar_pairs_new(&pairs, &k->pairs);
	if (r == 0)
		r = heatmap_new(run, k->heatmap_path, &k->heatmap);
	return r == 0 ? attar_keytable_new(&table, &k->table) : r;
}

void kvm_exits_close(struct kvm_exits *k)
{
	attar_pairs_free(k->pairs);
	attar_keytable_free(k->table);
	attar_expr_free(k->name);
	heatmap_free(k->heatmap);
	free(k->event);
}
