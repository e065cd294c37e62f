# SPDX-License-Identifier: MIT
"""The cost of reading, decoding and counting a flood of raw_syscalls:sys_enter, and lost events.

A child on the first CPU makes a million getppid() calls. The reader runs on the last CPU with a
ring of 4 MiB and a watermark of a quarter, which is attar's default. Ours is the library's stream,
as profilers use it (bench/drain.c). The reference is a minimal reader of one ring that decodes the
same fields (bench/bare_drain.c). The cost of the kernel's recording for the child is measured with
a ring that holds all records and has no reader. All values are CPU time. Reader and child have
real-time priority to exclude effects of other processes; without it, both readers lose the events
that are written while they wait for a CPU.
"""
CALLS = 1000000
RING = 1024  # pages: 4 MiB
WHOLE = 32768


def run(bench):
    first = bench.real_time()
    ours, bare = [bench.tool('drain')], [bench.tool('bare_drain')]
    reader = bench.compare('reader CPU per event', 'ns', 'minimal mmap reader', 2.0)
    slowed = bench.compare('CPU of one traced call', 'ns', "kernel's recording alone", 1.05)
    lost = bench.limit(f'events lost of {CALLS} in one round', '', 0, worst=True)
    theirs = bench.limit('the same, minimal mmap reader', '', None, worst=True)
    plain = bench.compare('lost without priority', '', 'minimal mmap reader', None)
    wakeups = bench.limit('wakeups per 1000 events', '', 1)
    for _ in bench.rounds(at_least=20):
        a = bench.answer(*first, *ours, CALLS, RING)
        b = bench.answer(*first, *bare, 'read', CALLS, RING)
        kernel = bench.answer(*first, *bare, 'record', CALLS, WHOLE)
        reader.add(a['reader_ns'] / a['seen'], b['reader_ns'] / b['seen'])
        slowed.add(a['call_ns'], kernel['call_ns'])
        lost.add(a['lost'])
        theirs.add(b['lost'])
        plain.add(bench.answer(*ours, CALLS, RING)['lost'],
                  bench.answer(*bare, 'read', CALLS, RING)['lost'])
        wakeups.add(1000 * a['wakeups'] / a['seen'])
