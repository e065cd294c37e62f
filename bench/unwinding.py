# SPDX-License-Identifier: MIT
"""Unwinding user stacks by call frame information, compared with libdw of elfutils and
libunwind.

perf record --call-graph dwarf records Python, whose stacks have about 17 frames, without frame
pointers. bench/unwind_recording.c unwinds the stack of each sample a hundred times from the same
registers and the same 16 KiB of stack, after a first time that fills the caches, with attar, libdw,
and libunwind with its cache. The frames of all are counted: libdw ends stacks a little earlier. CPU
of a sample is that of the whole command, with reading binaries and symbols: attar profile, and perf
script, which both unwind each stack once.
"""
import subprocess

SECONDS = 4
PROGRAM = f"""
import json, re, time
def deep(n):
    return deep(n - 1) if n else sum(len(json.dumps([i, re.sub('a', 'b', 'banana')]))
                                     for i in range(300))
end = time.process_time() + {SECONDS}
while time.process_time() < end:
    deep(12)
"""


def run(bench):
    data = bench.scratch / 'stacks.data'
    subprocess.run([bench.peer('perf'), 'record', '-q', '-F', '499', '-e', 'cpu-clock:u',
                    '--call-graph', 'dwarf,16384', '-o', data, '/usr/bin/python3', '-c', PROGRAM],
                   capture_output=True, check=True)
    tool = bench.tool('unwind_recording')
    frame = bench.compare('a frame', 'ns', 'libdw', 0.25)
    other = bench.compare('a frame', 'ns', 'libunwind', 0.25)
    most = bench.limit('a frame, at most', 'ns', 60)
    frames = bench.compare('frames of a stack', '', 'libdw', None)
    others = bench.compare('frames of a stack', '', 'libunwind', None)
    sample = bench.compare('CPU of a sample, with its report', 'us', 'perf script', 1)
    for _ in bench.rounds():
        ours, libdw, libunwind = (bench.answer(tool, data, *peer)
                                  for peer in ((), ('libdw',), ('libunwind',)))
        frame.add(ours['ns'] / ours['frames'], libdw['ns'] / libdw['frames'])
        other.add(ours['ns'] / ours['frames'], libunwind['ns'] / libunwind['frames'])
        most.add(ours['ns'] / ours['frames'])
        frames.add(ours['frames'] / ours['stacks'], libdw['frames'] / libdw['stacks'])
        others.add(ours['frames'] / ours['stacks'], libunwind['frames'] / libunwind['stacks'])
        costs = [bench.cost(*command)['cpu'] / ours['stacks'] * 1e6 for command in (
            (bench.attar, 'profile', '-q', '-g', '--input', data),
            (bench.peer('perf'), 'script', '-i', data))]
        sample.add(*costs)
