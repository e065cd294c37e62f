# SPDX-License-Identifier: MIT
"""Events through the Python package, as objects and as NumPy arrays, and in C.

`attar record` records a million getppid() calls (raw_syscalls:sys_enter). A Python program reads
the recording: as objects of which it reads one field, as objects that it only counts, and as
batches of which it sums a column. The peer is the library's stream of the same file in C
(bench/decode_recording.c). All values are CPU time of the whole process but its start, in ns of an
event: 5000 ns are 200,000 events per second and core, 1000 ns a million.
"""
import json
import os
import subprocess

EVENTS = 1000000
FILTER = 110  # getppid
PROGRAM = '''
import json, sys, time
import attar
path, mode = sys.argv[1:]
events = attar.open(path).events()
events._start()
begin, n, total = time.process_time(), 0, 0
if mode == 'field':
    for event in events:
        n += 1
        total += event.id
elif mode == 'object':
    for event in events:
        n += 1
else:
    for batch in events.batches():
        n += len(batch)
        total += int(batch.array()['id'].sum())
print(json.dumps([n, total, (time.process_time() - begin) * 1e9 / max(n, 1)]))
'''
MODES = {'object': ('an object', 5000), 'field': ('an object, one field read', 5000),
         'array': ('in an array, a column summed', 1000)}


def record(bench):
    path = bench.scratch / 'flood.data'
    subprocess.run([bench.attar, 'record', '-q', '-m', '8192', '-o', path, '-e',
                    f'raw_syscalls:sys_enter/id=={FILTER}/', '--', bench.tool('paced'),
                    bench.scratch / 'program', str(EVENTS), '0'], check=True)
    return path


def read(bench, path, mode):
    """The events, and the ns of one."""
    package = os.path.join(bench.build, 'python')
    done = subprocess.run(['/usr/bin/python3', '-c', PROGRAM, path, mode], check=True, text=True,
                          capture_output=True, env={**os.environ, 'PYTHONPATH': package})
    n, total, ns = json.loads(done.stdout)
    assert mode == 'object' or total == n * FILTER
    return n, ns


def run(bench):
    path = record(bench)
    rows = {mode: (bench.compare(name, 'ns', 'the stream in C', None),
                   bench.limit(f'{name}: at most', 'ns', goal))
            for mode, (name, goal) in MODES.items()}
    for _ in bench.rounds():
        c = bench.answer(bench.tool('decode_recording'), path)
        for mode, (ratio, limit) in rows.items():
            n, ns = read(bench, path, mode)
            assert n == c['samples'], f"{n} events in Python, {c['samples']} in C"
            ratio.add(ns, c['ns'] / c['samples'])
            limit.add(ns)
