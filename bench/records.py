# SPDX-License-Identifier: MIT
"""Decoding samples, compared with a hand-written reader for one layout.

bench_record decodes the same bytes with both: streams that fit the first cache, the second (as a ring does) and none.
"fields" touches every field, "chain" also walks the call chain with its changes of context.
"""
import re
import subprocess


def run(bench):
    comparisons = {}
    for _ in bench.rounds():
        done = subprocess.run([bench.tool('bench_record'), '20'], capture_output=True, text=True, check=True)
        for what, ours, peer in re.findall(r'record-(\S+): attar ([\d.]+) ns, bare ([\d.]+) ns', done.stdout):
            if what not in comparisons:
                comparisons[what] = bench.compare(f'a sample, {what}', 'ns', 'bare reader', 1.3)
            comparisons[what].add(float(ours), float(peer))
