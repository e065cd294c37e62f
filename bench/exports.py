# SPDX-License-Identifier: MIT
"""A profile of 100,000 stacks for pprof, compared with perf report printing them.

The recording has one sample of each of 100,000 different stacks of 16 functions of attar itself: a
call tree whose innermost six functions call one of seven each. Ours is reading it and writing the
profile (-o x.pb.gz), the peer is reading it and printing all call chains (perf report --stdio -g
graph,0). Both are CPU time.
"""
import os
import struct
import subprocess

STACKS = 100000
DEPTH = 16
CALLS, BRANCHES = 7, 6  # 7 ** 6 is more than STACKS
BASE = 0x400000
IP, TID, TIME, CALLCHAIN, CPU, PERIOD = 1, 2, 4, 0x20, 0x80, 0x100  # PERF_SAMPLE_*


def record(kind, misc, payload):
    payload += bytes(-len(payload) % 8)
    return struct.pack('<IHH', kind, misc, 8 + len(payload)) + payload


def functions(path):
    """Addresses of functions in the file, in its text segment."""
    listed = subprocess.run(['nm', '--defined-only', path], capture_output=True, text=True,
                            check=True).stdout
    return [int(line.split()[0], 16) for line in listed.splitlines() if line.split()[1] in 'tT']


def write_stacks(bench, path):
    """A recording in the pipe format. The last digits of i are the innermost functions."""
    program, sample_type = bench.attar, IP | TID | TIME | CALLCHAIN | CPU | PERIOD
    addresses = functions(program)
    attr = struct.pack('<IIQQQQQ', 1, 128, 0, 1, sample_type, 0, 1 << 18).ljust(128, b'\0')
    with path.open('wb') as out:
        out.write(struct.pack('<QQ', 0x32454c4946524550, 16))
        out.write(record(64, 0, attr + struct.pack('<Q', 7)))
        ids = struct.pack('<IIQII', 1000, 1000, 0, 0, 0)
        out.write(record(3, 0, struct.pack('<II', 1000, 1000) + b'attar'.ljust(8, b'\0') + ids))
        out.write(record(1, 2, struct.pack('<IIQQQ', 1000, 1000, BASE, os.path.getsize(program), 0)
                         + program.encode().ljust(len(program) // 8 * 8 + 8, b'\0') + ids))
        for i in range(STACKS):
            chain = [BASE + addresses[depth * CALLS + (i // CALLS ** depth % CALLS
                                                       if depth < BRANCHES else 0)]
                     for depth in range(DEPTH)]
            out.write(record(9, 2, struct.pack(
                f'<QIIQIIQQ{DEPTH + 1}Q', chain[0], 1000, 1000, 1000 + i, 0, 0, 1, DEPTH + 1,
                2 ** 64 - 512, *chain)))
        out.write(record(68, 0, b''))


def compare_pprof(bench):
    perf, path = bench.peer('perf'), bench.scratch / 'stacks.data'
    write_stacks(bench, path)
    cpu = bench.compare(f'pprof of {STACKS} stacks', 's', 'perf report', 0.1)
    for _ in bench.rounds():
        ours = bench.cost(bench.attar, 'profile', '-q', '--input', path, '-o',
                          bench.scratch / 'x.pb.gz')
        theirs = bench.cost(perf, 'report', '-i', path, '--stdio', '--no-children', '-g',
                            'graph,0')
        cpu.add(ours['cpu'], theirs['cpu'])


def run(bench):
    compare_pprof(bench)
