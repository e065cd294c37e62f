/* SPDX-License-Identifier: MIT */
/* Compare a parsed record with its model, field by field. */
#include "unit.h"
#include "record_encoder.h"

#include <string.h>

#include "record/uapi.h"

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

static void same_payload(
	const struct model *m, const struct attar_record *got, const struct attar_record *want)
{
	switch (want->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		same_mmap(&got->mmap, &want->mmap);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		SAME(lost.id);
		SAME(lost.lost);
		break;
	case PERF_RECORD_COMM:
		SAME(comm.pid);
		SAME(comm.tid);
		SAME(comm.exec);
		assert_string_equal(got->comm.comm, want->comm.comm);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		SAME(task.pid);
		SAME(task.ppid);
		SAME(task.tid);
		SAME(task.ptid);
		SAME(task.time);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		SAME(throttle.time);
		SAME(throttle.id);
		SAME(throttle.stream_id);
		break;
	case PERF_RECORD_READ:
		SAME(read.pid);
		SAME(read.tid);
		same_read(m, &got->read.values, &want->read.values);
		break;
	case PERF_RECORD_SAMPLE:
		same_sample(m, &got->sample, &want->sample);
		break;
	case PERF_RECORD_AUX:
		SAME(aux.offset);
		SAME(aux.size);
		SAME(aux.flags);
		break;
	case PERF_RECORD_ITRACE_START:
		SAME(itrace_start.pid);
		SAME(itrace_start.tid);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		SAME(context_switch.other_pid);
		SAME(context_switch.other_tid);
		SAME(context_switch.out);
		SAME(context_switch.preempt);
		break;
	case PERF_RECORD_NAMESPACES:
		SAME(namespaces.pid);
		SAME(namespaces.tid);
		SAME(namespaces.nr);
		SAME_BYTES(namespaces.links, want->namespaces.nr * 16);
		break;
	case PERF_RECORD_KSYMBOL:
		SAME(ksymbol.addr);
		SAME(ksymbol.len);
		SAME(ksymbol.ksym_type);
		SAME(ksymbol.flags);
		assert_string_equal(got->ksymbol.name, want->ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		SAME(bpf_event.bpf_type);
		SAME(bpf_event.flags);
		SAME(bpf_event.id);
		SAME_BYTES(bpf_event.tag, 8);
		break;
	case PERF_RECORD_CGROUP:
		SAME(cgroup.id);
		assert_string_equal(got->cgroup.path, want->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		SAME(text_poke.addr);
		SAME(text_poke.old_len);
		SAME(text_poke.new_len);
		SAME_BYTES(text_poke.old_bytes, want->text_poke.old_len);
		SAME_BYTES(text_poke.new_bytes, want->text_poke.new_len);
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID_:
		SAME(aux_output_hw_id.hw_id);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED_:
		SAME(callchain_deferred.cookie);
		SAME(callchain_deferred.nr);
		SAME_BYTES(callchain_deferred.ips, want->callchain_deferred.nr * 8);
		break;
	default:
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
