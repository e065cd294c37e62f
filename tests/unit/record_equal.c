/* SPDX-License-Identifier: MIT */
/* Compare a parsed record with its model, field by field. */
#include "unit.h"
#include "record_encoder.h"

#include <string.h>

#include "record/uapi.h"
#include "record_plain.h"

#define SAME(field)       assert_int_equal(got->field, want->field)
#define SAME_BYTES(at, n) same_bytes(got->at, want->at, n)

static void same_bytes(const void *got, const void *want, uint64_t n)
{
	if (n)
		assert_memory_equal(got, want, n);
}

static void same_read(
	const struct model *m, const struct attar_read *got, const struct attar_read *want)
{
	SAME(nr);
	SAME(format);
	assert_int_equal(attar_read_time_enabled(got), m->time_enabled);
	assert_int_equal(attar_read_time_running(got), m->time_running);
	for (uint64_t i = 0; i < want->nr; i++) {
		struct attar_read_value value = attar_read_at(got, i);

		assert_memory_equal(&value, &m->values[i], sizeof(value));
	}
	assert_int_equal(attar_read_at(got, want->nr).value, 0);
}

static void same_regs(const struct attar_regs *got, const struct attar_regs *want)
{
	SAME(abi);
	SAME(mask);
	SAME(nr);
	SAME_BYTES(values, want->nr * 8);
}

static void same_sample(
	const struct model *m, const struct attar_sample *got, const struct attar_sample *want)
{
	uint64_t type = m->attr.sample_type;

	assert_int_equal(got->callchain != NULL, !!(type & PERF_SAMPLE_CALLCHAIN));
	assert_int_equal(got->raw != NULL, !!(type & PERF_SAMPLE_RAW));
	assert_int_equal(got->aux != NULL, !!(type & PERF_SAMPLE_AUX));
	assert_int_equal(got->read.words != NULL, !!(type & PERF_SAMPLE_READ));
	assert_int_equal(got->branches != NULL, !!(type & PERF_SAMPLE_BRANCH_STACK));
	assert_int_equal(got->stack != NULL, m->stack_room > 0);
	SAME(ip);
	SAME(addr);
	SAME(period);
	same_read(m, &got->read, &want->read);
	SAME(callchain_nr);
	SAME_BYTES(callchain, want->callchain_nr * 8);
	SAME(raw_size);
	SAME_BYTES(raw, want->raw_size);
	SAME(rest_size);
	SAME(branch_nr);
	SAME(branch_calls);
	SAME(branch_hw_idx);
	SAME_BYTES(branches, want->branch_nr * sizeof(*want->branches));
	assert_int_equal(got->branch_counters != NULL, want->branch_counters != NULL);
	SAME_BYTES(branch_counters, want->branch_counters ? want->branch_nr * 8 : 0);
	same_regs(&got->regs_user, &want->regs_user);
	same_regs(&got->regs_intr, &want->regs_intr);
	SAME(stack_size);
	SAME_BYTES(stack, want->stack_size);
	SAME(weight);
	SAME(data_src);
	SAME(transaction);
	SAME(phys_addr);
	SAME(cgroup);
	SAME(data_page_size);
	SAME(code_page_size);
	SAME(aux_size);
	SAME_BYTES(aux, want->aux_size);
}

static void same_mmap(const struct attar_mmap *got, const struct attar_mmap *want)
{
	SAME(pid);
	SAME(tid);
	SAME(addr);
	SAME(len);
	SAME(pgoff);
	SAME(maj);
	SAME(min);
	SAME(ino);
	SAME(ino_generation);
	SAME(prot);
	SAME(flags);
	SAME(build_id_size);
	SAME_BYTES(build_id, sizeof(want->build_id));
	SAME(has_ino);
	assert_string_equal(got->filename, want->filename);
}

static void same_plain(const struct attar_record *got, const struct attar_record *want,
	const struct record_field *field)
{
	if (field->kind == RECORD_TEXT)
		assert_string_equal(record_text(got, field), record_text(want, field));
	else if (field->kind == RECORD_TAG)
		same_bytes(record_text(got, field), record_text(want, field), RECORD_TAG_BYTES);
	else
		assert_int_equal(record_number(got, field), record_number(want, field));
}

static void same_context_switch(const struct attar_record_context_switch *got,
	const struct attar_record_context_switch *want)
{
	SAME(other_pid);
	SAME(other_tid);
	SAME(out);
	SAME(preempt);
}

static void same_text_poke(
	const struct attar_record_text_poke *got, const struct attar_record_text_poke *want)
{
	SAME(addr);
	SAME(old_len);
	SAME(new_len);
	SAME_BYTES(old_bytes, want->old_len);
	SAME_BYTES(new_bytes, want->new_len);
}

static void same_payload(
	const struct model *m, const struct attar_record *got, const struct attar_record *want)
{
	bool is_plain = false;

	for (size_t i = 0; i < record_n_plain; i++)
		if (record_has(want, &record_plain[i])) {
			same_plain(got, want, &record_plain[i]);
			is_plain = true;
		}
	switch (want->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		same_mmap(&got->mmap, &want->mmap);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		SAME(lost.id);
		break;
	case PERF_RECORD_COMM:
		SAME(comm.exec);
		break;
	case PERF_RECORD_READ:
		same_read(m, &got->read.values, &want->read.values);
		break;
	case PERF_RECORD_SAMPLE:
		same_sample(m, &got->sample, &want->sample);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		same_context_switch(&got->context_switch, &want->context_switch);
		break;
	case PERF_RECORD_NAMESPACES:
		SAME(namespaces.nr);
		SAME_BYTES(namespaces.links, want->namespaces.nr * 16);
		break;
	case PERF_RECORD_TEXT_POKE:
		same_text_poke(&got->text_poke, &want->text_poke);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED_:
		SAME(callchain_deferred.cookie);
		SAME(callchain_deferred.nr);
		SAME_BYTES(callchain_deferred.ips, want->callchain_deferred.nr * 8);
		break;
	default:
		if (!is_plain)
			fail_msg("no comparison for record type %u", want->type);
	}
}

void model_assert_equal(const struct model *m, const struct attar_record *got)
{
	const struct attar_record *want = &m->rec;

	SAME(type);
	SAME(misc);
	SAME(pid);
	SAME(tid);
	SAME(cpu);
	SAME(time);
	SAME(id);
	SAME(stream_id);
	same_payload(m, got, want);
}
