# SPDX-License-Identifier: MIT
"""Decoding samples, compared with a hand-written reader for one layout.

bench_record decodes the same bytes with both: streams that fit in the L1 cache, in the L2 cache (as
a ring does), and in neither. "fields" reads every field; "chain" also walks the call chain and
handles its context markers.
"""
import re
import subprocess


def run(bench):
    comparisons = {}
    for _ in bench.rounds():
        done = subprocess.run([bench.tool('bench_record'), '20'], capture_output=True, text=True,
                              check=True)
        for what, ours, peer in re.findall(r'record-(\S+): attar ([\d.]+) ns, bare ([\d.]+) ns',
                                           done.stdout):
            if what not in comparisons:
                comparisons[what] = bench.compare(f'a sample, {what}', 'ns', 'minimal reader', 1.3)
            comparisons[what].add(float(ours), float(peer))
