# SPDX-License-Identifier: MIT
"""Decoding a recording without printing, compared with a minimal loop over its records.

tests/workloads/write_recording.c writes a million samples with raw data, of two CPUs and 16
threads, with the fields that perf record and attar record request. Ours is the library's stream of
the file (bench/decode_recording.c): decoded, in time order, with threads. The peer reads the
same bytes with read(2), steps from record to record and takes the same fields, at positions that
are known to it. Both are CPU time. Instructions are those in user space, counted by callgrind,
which does not depend on the load of the machine.

The peak memory is that of attar top and attar trace that read a million events, and ten million.
"""
import re
import shutil
import subprocess

EVENTS = 1000000
COUNTED = 200000
PROFILERS = ['top', 'trace']


def write(bench, events, layout):
    path = bench.scratch / f'{layout}.{events}.data'
    with path.open('wb') as out:
        subprocess.run([bench.tool('write_recording'), str(events), layout], stdout=out,
                       check=True)
    return path


def instructions(bench, events, *command):
    """User-space instructions per event, including the start of the program."""
    done = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null',
                           *map(str, command)], capture_output=True, text=True, check=True)
    return int(re.search(r'Collected : (\d+)', done.stderr)[1]) / events


def memory(bench, path, profiler):
    """The peak memory in MB."""
    return bench.cost(bench.attar, profiler, '-q', '-e', 'cpu-clock', '--format', 'csv', '--input',
                      path)['rss'] / 1e6


def run(bench):
    decode = bench.tool('decode_recording')
    for layout in ('perf', 'ids', 'attar'):
        path = write(bench, EVENTS, layout)
        peer = 'walk', layout, path
        ratio = bench.compare(f'a sample, fields of {layout}', 'ns', 'minimal loop', None)
        beyond = bench.limit('the same, beyond the minimal loop', 'ns', 10)
        for _ in bench.rounds():
            ours, walk = bench.answer(decode, path), bench.answer(decode, *peer)
            if ours['mixed'] != walk['mixed']:
                raise SystemExit(f'{layout}: the fields differ')
            ratio.add(ours['ns'] / ours['samples'], walk['ns'] / walk['samples'])
            beyond.add((ours['ns'] - walk['ns']) / ours['samples'])
        if shutil.which('valgrind'):
            count = bench.compare('the same', 'instructions', 'minimal loop', None)
            path = write(bench, COUNTED, layout)
            peer = 'walk', layout, path
            count.add(instructions(bench, COUNTED, decode, path),
                      instructions(bench, COUNTED, decode, *peer))
        path.unlink()
    paths = {events: write(bench, events, 'attar') for events in (EVENTS, 10 * EVENTS)}
    for profiler in PROFILERS:
        peak = bench.compare(f'peak memory of {profiler}, {10 * EVENTS} events', 'MB',
                             f'{EVENTS} events', 1.05, worst=True)
        for _ in bench.rounds():
            few, many = (memory(bench, path, profiler) for path in paths.values())
            peak.add(many, few)
