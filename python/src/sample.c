/* SPDX-License-Identifier: MIT */
/*
 * Samples of profilers: the members of perf_event_attr.sample_type under the names that
 * perf_event_open(2) has for them, copied so that they can be read after the ring has moved on.
 */
#include "native.h"

struct sample_head {
	uint64_t id, stream_id, weight, data_src, transaction, phys_addr, cgroup;
	uint64_t data_page_size, code_page_size;
	uint64_t regs_user, regs_intr; /* masks */
	uint32_t user_abi, intr_abi;
	uint32_t user_nr, intr_nr;
	uint32_t read_format, read_words; /* what follows, in this order */
	uint32_t branch_nr, stack_size, aux_size, padding;
};

/* ---- the copy ---- */

static uint32_t read_words(const struct attar_read *read)
{
	uint32_t f = read->format;
	uint32_t times =
		!!(f & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(f & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint32_t value = 1 + !!(f & PERF_FORMAT_ID) + !!(f & PERF_FORMAT_LOST);

	return read->words ? !!(f & PERF_FORMAT_GROUP) + times + read->nr * value : 0;
}

static size_t round_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t sample_size(const struct attar_event *event)
{
	const struct attar_sample *s = &event->record->sample;

	return sizeof(struct sample_head) +
	       8 * ((size_t)read_words(&s->read) + s->regs_user.nr + s->regs_intr.nr) +
	       s->branch_nr * sizeof(*s->branches) + round_up(s->stack_size) +
	       round_up(s->aux_size);
}

static char *append(char *to, const void *from, size_t n)
{
	if (n % 8)
		memset(to + n - n % 8, 0, 8);
	if (n)
		memcpy(to, from, n);
	return to + round_up(n);
}

void sample_copy(const struct attar_event *event, void *to)
{
	const struct attar_sample *s = &event->record->sample;
	struct sample_head *head = to;

	*head = (struct sample_head){.id = event->record->id,
		.stream_id = event->record->stream_id,
		.weight = s->weight,
		.data_src = s->data_src,
		.transaction = s->transaction,
		.phys_addr = s->phys_addr,
		.cgroup = s->cgroup,
		.data_page_size = s->data_page_size,
		.code_page_size = s->code_page_size,
		.regs_user = s->regs_user.mask,
		.regs_intr = s->regs_intr.mask,
		.user_abi = s->regs_user.abi,
		.intr_abi = s->regs_intr.abi,
		.user_nr = s->regs_user.nr,
		.intr_nr = s->regs_intr.nr,
		.read_format = s->read.format,
		.read_words = read_words(&s->read),
		.branch_nr = s->branch_nr,
		.stack_size = s->stack_size,
		.aux_size = s->aux_size};
	to = append((char *)(head + 1), s->read.words, 8 * (size_t)head->read_words);
	to = append(to, s->regs_user.values, 8 * (size_t)s->regs_user.nr);
	to = append(to, s->regs_intr.values, 8 * (size_t)s->regs_intr.nr);
	to = append(to, s->branches, s->branch_nr * sizeof(*s->branches));
	to = append(to, s->stack, s->stack_size);
	append(to, s->aux, s->aux_size);
}

static const uint64_t *user_values(const struct sample_head *head)
{
	return (const uint64_t *)(const void *)(head + 1) + head->read_words;
}

static const uint64_t *intr_values(const struct sample_head *head)
{
	return user_values(head) + head->user_nr;
}

static const char *branches(const struct sample_head *head)
{
	return (const char *)(intr_values(head) + head->intr_nr);
}

static const char *stack(const struct sample_head *head)
{
	return branches(head) + head->branch_nr * sizeof(struct perf_branch_entry);
}

/* ---- values ---- */

static PyObject *read_value(const struct attar_read *read, PyObject *dict, uint32_t i)
{
	struct attar_read_value value = attar_read_at(read, i);

	if (!dict || native_set(dict, "value", PyLong_FromUnsignedLongLong(value.value)) < 0)
		return NULL;
	if (read->format & PERF_FORMAT_ID &&
		native_set(dict, "id", PyLong_FromUnsignedLongLong(value.id)) < 0)
		return NULL;
	if (read->format & PERF_FORMAT_LOST &&
		native_set(dict, "lost", PyLong_FromUnsignedLongLong(value.lost)) < 0)
		return NULL;
	return dict;
}

static int set_counters(PyObject *dict, const struct attar_read *read)
{
	PyObject *list = PyList_New(read->nr);

	for (uint32_t i = 0; list && i < read->nr; i++) {
		PyObject *one = PyDict_New();

		if (!read_value(read, one, i) || PyList_SetItem(list, i, one) < 0)
			Py_CLEAR(list);
	}
	return native_set(dict, "cntr", list);
}

static PyObject *get_read(const struct sample_head *head)
{
	struct attar_read read = {0};
	PyObject *dict = PyDict_New();
	uint32_t f = head->read_format;
	int r = 0;

	if (dict && head->read_words)
		r = attar_read_parse(f, head + 1, 8 * (size_t)head->read_words, &read) < 0;
	if (!dict || !read.nr)
		return dict;
	if (f & PERF_FORMAT_GROUP)
		r = native_set(dict, "nr", PyLong_FromUnsignedLong(read.nr));
	else if (!read_value(&read, dict, 0))
		r = -1;
	if (r == 0 && f & PERF_FORMAT_TOTAL_TIME_ENABLED)
		r = native_set(dict, "time_enabled",
			PyLong_FromUnsignedLongLong(attar_read_time_enabled(&read)));
	if (r == 0 && f & PERF_FORMAT_TOTAL_TIME_RUNNING)
		r = native_set(dict, "time_running",
			PyLong_FromUnsignedLongLong(attar_read_time_running(&read)));
	if (r == 0 && f & PERF_FORMAT_GROUP)
		r = set_counters(dict, &read);
	if (r < 0)
		Py_CLEAR(dict);
	return dict;
}

/* Names of registers by their numbers in the kernel's asm/perf_regs.h. */
static const char *const register_names[] = {
#if defined(__x86_64__)
	"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", "ds", "es", "fs",
	"gs", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"
#elif defined(__aarch64__)
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
	"x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
	"x27", "x28", "x29", "lr", "sp", "pc"
#endif
};

static PyObject *get_registers(uint32_t abi, uint64_t mask, const uint64_t *values, uint32_t nr)
{
	PyObject *dict = PyDict_New();
	int r = dict ? native_set(dict, "abi", PyLong_FromUnsignedLong(abi)) : -1;
	char other[16];
	uint32_t n = 0;

	for (unsigned i = 0; r == 0 && i < 64 && n < nr; i++) {
		const char *name = other;

		if (!(mask >> i & 1))
			continue;
		if (i < sizeof(register_names) / sizeof(register_names[0]))
			name = register_names[i];
		else
			snprintf(other, sizeof(other), "reg%u", i);
		r = native_set(dict, name, PyLong_FromUnsignedLongLong(values[n++]));
	}
	if (r < 0)
		Py_CLEAR(dict);
	return dict;
}

/* The number of branches, and their struct perf_branch_entry. */
static PyObject *get_branches(const struct sample_head *head)
{
	size_t n = head->branch_nr * sizeof(struct perf_branch_entry);
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(8 + n));
	uint64_t nr = head->branch_nr;

	if (bytes) {
		memcpy(PyBytes_AsString(bytes), &nr, sizeof(nr));
		memcpy(PyBytes_AsString(bytes) + sizeof(nr), branches(head), n);
	}
	return bytes;
}

/* ---- members, in the order of a record ---- */

enum member {
	MEMBER_ID,
	MEMBER_IP,
	MEMBER_PID,
	MEMBER_TID,
	MEMBER_TIME,
	MEMBER_ADDR,
	MEMBER_STREAM_ID,
	MEMBER_CPU,
	MEMBER_PERIOD,
	MEMBER_READ,
	MEMBER_CALLCHAIN,
	MEMBER_RAW,
	MEMBER_BRANCH_STACK,
	MEMBER_REGS_USER,
	MEMBER_STACK_USER,
	MEMBER_WEIGHT,
	MEMBER_DATA_SRC,
	MEMBER_TRANSACTION,
	MEMBER_REGS_INTR,
	MEMBER_PHYS_ADDR,
	MEMBER_CGROUP,
	MEMBER_DATA_PAGE_SIZE,
	MEMBER_CODE_PAGE_SIZE,
	MEMBER_AUX,
	N_MEMBERS,
};

/* The stream needs TID, TIME and CPU, and adds them. */
static const struct {
	const char *name;
	uint64_t bits; /* enum perf_event_sample_format; any */
} members[N_MEMBERS] = {
	[MEMBER_ID] = {"id", PERF_SAMPLE_ID},
	[MEMBER_IP] = {"ip", PERF_SAMPLE_IP},
	[MEMBER_PID] = {"pid", UINT64_MAX},
	[MEMBER_TID] = {"tid", UINT64_MAX},
	[MEMBER_TIME] = {"time", UINT64_MAX},
	[MEMBER_ADDR] = {"addr", PERF_SAMPLE_ADDR},
	[MEMBER_STREAM_ID] = {"stream_id", PERF_SAMPLE_STREAM_ID},
	[MEMBER_CPU] = {"cpu", UINT64_MAX},
	[MEMBER_PERIOD] = {"period", PERF_SAMPLE_PERIOD},
	[MEMBER_READ] = {"read", PERF_SAMPLE_READ},
	[MEMBER_CALLCHAIN] = {"callchain", PERF_SAMPLE_CALLCHAIN},
	[MEMBER_RAW] = {"raw", PERF_SAMPLE_RAW},
	[MEMBER_BRANCH_STACK] = {"branch_stack", PERF_SAMPLE_BRANCH_STACK},
	[MEMBER_REGS_USER] = {"regs_user", PERF_SAMPLE_REGS_USER},
	[MEMBER_STACK_USER] = {"stack_user", PERF_SAMPLE_STACK_USER},
	[MEMBER_WEIGHT] = {"weight", PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT},
	[MEMBER_DATA_SRC] = {"data_src", PERF_SAMPLE_DATA_SRC},
	[MEMBER_TRANSACTION] = {"transaction", PERF_SAMPLE_TRANSACTION},
	[MEMBER_REGS_INTR] = {"regs_intr", PERF_SAMPLE_REGS_INTR},
	[MEMBER_PHYS_ADDR] = {"phys_addr", PERF_SAMPLE_PHYS_ADDR},
	[MEMBER_CGROUP] = {"cgroup", PERF_SAMPLE_CGROUP},
	[MEMBER_DATA_PAGE_SIZE] = {"data_page_size", PERF_SAMPLE_DATA_PAGE_SIZE},
	[MEMBER_CODE_PAGE_SIZE] = {"code_page_size", PERF_SAMPLE_CODE_PAGE_SIZE},
	[MEMBER_AUX] = {"aux", PERF_SAMPLE_AUX},
};

const char *sample_member(size_t i)
{
	return i < N_MEMBERS ? members[i].name : NULL;
}

bool sample_has(uint64_t sample_type, size_t i)
{
	return members[i].bits == UINT64_MAX || sample_type & members[i].bits;
}

static uint64_t get_number(const struct sample_head *head, const struct row *row, enum member i)
{
	switch (i) {
	case MEMBER_ID:
		return head->id;
	case MEMBER_IP:
		return row->ip;
	case MEMBER_TIME:
		return row->time;
	case MEMBER_ADDR:
		return row->addr;
	case MEMBER_STREAM_ID:
		return head->stream_id;
	case MEMBER_PERIOD:
		return row->period;
	case MEMBER_WEIGHT:
		return head->weight;
	case MEMBER_DATA_SRC:
		return head->data_src;
	case MEMBER_TRANSACTION:
		return head->transaction;
	case MEMBER_PHYS_ADDR:
		return head->phys_addr;
	case MEMBER_CGROUP:
		return head->cgroup;
	case MEMBER_DATA_PAGE_SIZE:
		return head->data_page_size;
	default:
		return head->code_page_size;
	}
}

PyObject *sample_value(size_t i, const struct row *row)
{
	static const struct sample_head none;
	const struct sample_head *head = row_sample(row) ?: &none;

	switch ((enum member)i) {
	case MEMBER_PID:
		return PyLong_FromLong(row->pid);
	case MEMBER_TID:
		return PyLong_FromLong(row->tid);
	case MEMBER_CPU:
		return PyLong_FromLong(row->cpu);
	case MEMBER_READ:
		return get_read(head);
	case MEMBER_RAW:
		return PyBytes_FromStringAndSize(row_raw(row), row->raw_size);
	case MEMBER_BRANCH_STACK:
		return get_branches(head);
	case MEMBER_REGS_USER:
		return get_registers(
			head->user_abi, head->regs_user, user_values(head), head->user_nr);
	case MEMBER_REGS_INTR:
		return get_registers(
			head->intr_abi, head->regs_intr, intr_values(head), head->intr_nr);
	case MEMBER_STACK_USER:
		return PyBytes_FromStringAndSize(stack(head), head->stack_size);
	case MEMBER_AUX:
		return PyBytes_FromStringAndSize(
			stack(head) + round_up(head->stack_size), head->aux_size);
	default:
		return PyLong_FromUnsignedLongLong(get_number(head, row, (enum member)i));
	}
}
