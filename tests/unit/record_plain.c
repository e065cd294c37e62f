/* SPDX-License-Identifier: MIT */
/*
 * The records that have numbers, texts or tags only, or begin with some: their fields in the order
 * of the structs in kernel/events/core.c.
 */
#include "record_plain.h"

#include "record/uapi.h"

const struct record_field record_plain[] = {
	{RECORD_IS(LOST), RECORD_FIELD(lost.id)},
	{RECORD_IS(LOST) | RECORD_IS(LOST_SAMPLES), RECORD_FIELD(lost.lost)},

	{RECORD_IS(COMM), RECORD_FIELD(comm.pid)},
	{RECORD_IS(COMM), RECORD_FIELD(comm.tid)},
	{RECORD_IS(COMM), RECORD_FIELD(comm.comm)},

	{RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.pid)},
	{RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.ppid)},
	{RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.tid)},
	{RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.ptid)},
	{RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.time)},

	{RECORD_IS(THROTTLE) | RECORD_IS(UNTHROTTLE), RECORD_FIELD(throttle.time)},
	{RECORD_IS(THROTTLE) | RECORD_IS(UNTHROTTLE), RECORD_FIELD(throttle.id)},
	{RECORD_IS(THROTTLE) | RECORD_IS(UNTHROTTLE), RECORD_FIELD(throttle.stream_id)},

	{RECORD_IS(READ), RECORD_FIELD(read.pid)}, /* then struct attar_read */
	{RECORD_IS(READ), RECORD_FIELD(read.tid)},

	{RECORD_IS(AUX), RECORD_FIELD(aux.offset)},
	{RECORD_IS(AUX), RECORD_FIELD(aux.size)},
	{RECORD_IS(AUX), RECORD_FIELD(aux.flags)},

	{RECORD_IS(ITRACE_START), RECORD_FIELD(itrace_start.pid)},
	{RECORD_IS(ITRACE_START), RECORD_FIELD(itrace_start.tid)},

	{RECORD_IS(SWITCH_CPU_WIDE), RECORD_FIELD(context_switch.other_pid)},
	{RECORD_IS(SWITCH_CPU_WIDE), RECORD_FIELD(context_switch.other_tid)},

	{RECORD_IS(NAMESPACES), RECORD_FIELD(namespaces.pid)}, /* then the links */
	{RECORD_IS(NAMESPACES), RECORD_FIELD(namespaces.tid)},

	{RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.addr)},
	{RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.len)},
	{RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.ksym_type)},
	{RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.flags)},
	{RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.name)},

	{RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.bpf_type)},
	{RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.flags)},
	{RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.id)},
	{RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.tag)},

	{RECORD_IS(CGROUP), RECORD_FIELD(cgroup.id)},
	{RECORD_IS(CGROUP), RECORD_FIELD(cgroup.path)},

	{RECORD_IS(AUX_OUTPUT_HW_ID_), RECORD_FIELD(aux_output_hw_id.hw_id)},
};

const size_t record_n_plain = sizeof(record_plain) / sizeof(*record_plain);
