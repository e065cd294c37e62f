# SPDX-License-Identifier: MIT
"""The cost of an event in histograms, tables by key, pairs and states.

bench_stats measures each in a loop: a hot key is always the same, other keys are 1000 in random
order; cold keys are a million in a table of 4096, which constantly evicts them.
"""
import subprocess

# What bench_stats measures: the name of it, the name in the table, the highest good value in ns.
MEASURES = [
    ('hist-add', 'a value of a histogram', 5),
    ('key-hot', 'a hot key', 15),
    ('key-1000', '1000 keys', None),
    ('key-name', '1000 names', None),
    ('key-cold', 'keys that are evicted', None),
    ('pair', 'start and end', 60),
    ('state', 'a change of the state', None),
]


def run(bench):
    limits = {name: bench.limit(title, 'ns', goal) for name, title, goal in MEASURES}
    for _ in bench.rounds():
        done = subprocess.run([bench.tool('bench_stats'), '50'],
                              capture_output=True, text=True, check=True)
        for name, ns in (line.split() for line in done.stdout.splitlines()):
            limits[name].add(float(ns))
