# SPDX-License-Identifier: MIT
"""Time from the start of the command to its first sample, on busy CPUs.

All CPUs are busy, so the first sample is taken as soon as the events are enabled. Samples have
timestamps of the kernel's clock; the start is the time just before exec. This is wall time, because
waiting delays the first sample as much as CPU time does.
"""
import json
import re
import subprocess
import time


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    first = bench.compare('start to first sample', 'ms', 'perf record', 1.0)
    busy = bench.start(bench.tool('busy'), bench.scratch / 'counters')
    try:
        time.sleep(0.5)
        for _ in bench.rounds(at_least=10):
            first.add(ours_ms(bench), perf_ms(bench, perf, data))
    finally:
        busy.terminate()
        busy.wait()


def perf_ms(bench, perf, data):
    cost = bench.cost(perf, 'record', '-q', '-F', 997, '-a', '-g', '-k', 'CLOCK_REALTIME',
                      '-o', data, '--', 'sleep', 0.3)
    text = subprocess.run([perf, 'script', '-i', data, '-F', 'time', '--ns', '-G'],
                          capture_output=True, text=True).stdout
    return 1000 * (min(float(t) for t in re.findall(r'(\d+\.\d+):', text)) - cost['start'])


def ours_ms(bench):
    out = bench.scratch / 'each.json'
    with open(out, 'w') as f:
        cost = bench.cost(bench.attar, 'profile', '-F', 997, '--print-samples',
                          '--format', 'json', '-d', '300ms', stdout=f)
    times = [row[0] for line in out.read_text().splitlines() for s in json.loads(line)['sections']
             if s['name'] == 'samples' for row in s['rows']]
    if not times:
        raise RuntimeError('attar profile --print-samples printed no samples')
    return 1000 * (min(times) / 1e9 - cost['start'])
