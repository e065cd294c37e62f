# SPDX-License-Identifier: MIT
"""What decoding one sample costs beside a reader written by hand for its one layout.

One program, bench/bench_record.c, reads the same bytes with attar_record_parse() and with the hand-written reader in
turn and takes the fastest pass of each; a round here is one run of it.
"""
import re
import subprocess

NAMES = {'fields': 'one sample, its fields', 'chain': 'one sample, every frame of its call chain'}


def run(bench):
    program = bench.tool('bench_record')
    rows = {}
    for _ in bench.rounds():
        text = subprocess.run([program, '50'], capture_output=True, text=True, check=True).stdout
        for what, size, ours, bare in re.findall(r'record-(\w+)-(\d+)K: attar ([\d.]+) ns, bare ([\d.]+) ns', text):
            if size not in rows.setdefault(what, {}) and int(size) > 1000:
                rows[what][size] = bench.compare(NAMES[what], 'ns', 'hand-written reader', 1.3)
            if size in rows[what]:
                rows[what][size].add(float(ours), float(bare))
