# SPDX-License-Identifier: MIT
"""100,000 addresses of a C++ program of 1 GB, and the first address of one of 2 GB (minutes).

bench/large_program/generate makes the programs. Time is the CPU time of the process; memory is its
peak. The files are in the page cache.

addr2line is not measured: it gave no answer in five minutes. The first addresses are 25 random
ones; each is looked up by a new process, and the ratio is that of the sums.
"""
import subprocess

from symbols import ADDRESSES, cost, text_addresses

OPTIONAL = True  # not run unless it is named
FIRST = 25


def generate(bench, megabytes):
    program = bench.scratch / f'program-{megabytes}'
    subprocess.run([bench.source / 'bench/large_program/generate', str(megabytes), program],
                   check=True)
    return program


def write(bench, name, addresses):
    path = bench.scratch / name
    path.write_text(''.join(f'0x{a:x}\n' for a in addresses))
    return path


def many(bench, program):
    wanted = write(bench, 'addresses', text_addresses(program, ADDRESSES))
    llvm = bench.peer('llvm-symbolizer')
    time = bench.compare('1 GB, 100,000 addresses: CPU', 's', 'llvm-symbolizer', 0.5)
    memory = bench.compare('1 GB, 100,000 addresses: memory', 'MB', 'llvm-symbolizer', 0.25)
    for _ in bench.rounds():
        ours = cost(bench, wanted, bench.attar, 'symbols', '--style=llvm', program)
        theirs = cost(bench, wanted, llvm, f'--obj={program}')
        time.add(ours['cpu'], theirs['cpu'])
        memory.add(ours['rss'] / 1e6, theirs['rss'] / 1e6)


def first(bench, program):
    eu = bench.peer('eu-addr2line')
    time = bench.compare('2 GB, first address: CPU', 's', 'eu-addr2line -i -f', 0.2)
    addresses = text_addresses(program, FIRST)
    for _ in bench.rounds():
        ours = theirs = 0
        for address in map(hex, addresses):
            ours += bench.cost(bench.attar, 'symbols', program, address)['cpu']
            theirs += bench.cost(eu, '-i', '-f', '-e', program, address)['cpu']
        time.add(ours / FIRST, theirs / FIRST)


def run(bench):
    for megabytes, measure in (1000, many), (2000, first):
        program = generate(bench, megabytes)
        measure(bench, program)
        program.unlink()
