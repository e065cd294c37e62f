# SPDX-License-Identifier: MIT
"""The cost of reading, decoding and counting a flood of raw_syscalls:sys_enter, and lost events.

A child on the first CPU makes a million getppid() calls; the reader runs on the last CPU with a ring of 4 MiB and a
watermark of a quarter, which is attar's own. Ours is the library's stream, as profilers use it (bench/drain.c); the
peer is the least that works, a plain reader of one ring that decodes the same fields (bench/bare_drain.c). What the
kernel's own recording costs the child is measured with a ring that holds the whole flood and nobody reads. All figures
are CPU time. Reader and child have real-time priority, so that what else runs on the machine does not matter; without
it, both readers lose what comes while the scheduler lets others run.
"""
import os

CALLS = 1000000
RING = 1024  # pages: 4 MiB
WHOLE = 32768


def run(bench):
    first = [bench.peer('chrt'), '-f', 20] if os.geteuid() == 0 else []
    ours, bare = [bench.tool('drain')], [bench.tool('bare_drain')]
    reader = bench.compare('reader CPU per event', 'ns', 'bare mmap reader', 2.0)
    slowed = bench.compare('CPU of one traced call', 'ns', "kernel's recording alone", 1.05)
    lost = bench.limit(f'events lost of {CALLS} in one round', '', 0, worst=True)
    theirs = bench.limit('the same, bare mmap reader', '', None, worst=True)
    plain = bench.compare('lost without priority', '', 'bare mmap reader', None)
    wakeups = bench.limit('wakeups per 1000 events', '', 1)
    for _ in bench.rounds(at_least=20):
        a = bench.answer(*first, *ours, CALLS, RING)
        b = bench.answer(*first, *bare, 'read', CALLS, RING)
        kernel = bench.answer(*first, *bare, 'record', CALLS, WHOLE)
        reader.add(a['reader_ns'] / a['seen'], b['reader_ns'] / b['seen'])
        slowed.add(a['call_ns'], kernel['call_ns'])
        lost.add(a['lost'])
        theirs.add(b['lost'])
        plain.add(bench.answer(*ours, CALLS, RING)['lost'], bench.answer(*bare, 'read', CALLS, RING)['lost'])
        wakeups.add(1000 * a['wakeups'] / a['seen'])
