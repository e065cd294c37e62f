# SPDX-License-Identifier: MIT
"""100,000 addresses of a binary to functions, lines and inlined functions, cold.

The binary is attar itself. All programs read the same addresses, in random order, from standard
input and print the same answers. Time is the CPU time of the process; memory is its peak. addr2line
is measured with 1,000 of the addresses, because it needs minutes for all of them.
"""
import random
import re
import subprocess

ADDRESSES, FEW = 100_000, 1_000


def text_addresses(program, n):
    sections = subprocess.run(['readelf', '-SW', program], capture_output=True, text=True).stdout
    start, size = re.search(r' \.text +PROGBITS +(\w+) \w+ (\w+)', sections).groups()
    chosen = random.Random(1)
    return [int(start, 16) + chosen.randrange(int(size, 16)) for _ in range(n)]


def run(bench):
    llvm = bench.peer('llvm-symbolizer')
    addr2line = bench.peer('addr2line')
    addresses = text_addresses(bench.attar, ADDRESSES)
    lists = {}
    for n in (ADDRESSES, FEW):
        lists[n] = bench.scratch / f'{n}'
        lists[n].write_text(''.join(f'0x{a:x}\n' for a in addresses[:n]))
    time = bench.compare('100,000 addresses: CPU', 's', 'llvm-symbolizer', 0.5)
    memory = bench.compare('100,000 addresses: memory', 'MB', 'llvm-symbolizer', 0.25)
    few = bench.compare('1,000 addresses: CPU', 's', 'addr2line', 0.1)
    for _ in bench.rounds():
        ours = cost(bench, lists[ADDRESSES], bench.attar, 'symbols', '--style=llvm', bench.attar)
        theirs = cost(bench, lists[ADDRESSES], llvm, f'--obj={bench.attar}')
        time.add(ours['cpu'], theirs['cpu'])
        memory.add(ours['rss'] / 1e6, theirs['rss'] / 1e6)
        ours = cost(bench, lists[FEW], bench.attar, 'symbols', bench.attar)
        theirs = cost(bench, lists[FEW], addr2line, '-i', '-f', '-C', '-e', bench.attar)
        few.add(ours['cpu'], theirs['cpu'])


def cost(bench, addresses, *command):
    """The cost of a command that reads the addresses."""
    return bench.cost('sh', '-c', 'exec "$@" < "$0"', addresses, *command)
