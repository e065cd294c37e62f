# SPDX-License-Identifier: MIT
"""100,000 addresses of a binary to functions, lines and inlined functions, cold.

The binary is attar itself. All programs read the same addresses, in random order, from standard
input and print the same answers. Time is the CPU time of the process; memory is its peak.

Names alone are looked up by bench/names.c, warm and in random order, compared with bsearch(3) in
the same table of functions. Both use names that were read before.
"""
import random
import re
import subprocess

ADDRESSES = 100_000


def text_addresses(program, n):
    sections = subprocess.run(['readelf', '-SW', program], capture_output=True, text=True).stdout
    start, size = re.search(r' \.text +PROGBITS +(\w+) \w+ (\w+)', sections).groups()
    chosen = random.Random(1)
    return [int(start, 16) + chosen.randrange(int(size, 16)) for _ in range(n)]


def run(bench):
    llvm = bench.peer('llvm-symbolizer')
    addr2line = bench.peer('addr2line')
    addresses = text_addresses(bench.attar, ADDRESSES)
    wanted = bench.scratch / 'addresses'
    wanted.write_text(''.join(f'0x{a:x}\n' for a in addresses))
    time = bench.compare('100,000 addresses: CPU', 's', 'llvm-symbolizer', 0.5)
    memory = bench.compare('100,000 addresses: memory', 'MB', 'llvm-symbolizer', 0.25)
    other = bench.compare('100,000 addresses: CPU', 's', 'addr2line -i', 0.1)
    names = bench.tool('names')
    most = bench.limit('a name, at most', 'ns', 1000)
    name = bench.compare('a name', 'ns', 'bsearch', None)
    for _ in bench.rounds():
        alone, bare = bench.answer(names, bench.attar), bench.answer(names, bench.attar, 'bsearch')
        most.add(alone['ns'] / alone['names'])
        name.add(alone['ns'] / alone['names'], bare['ns'] / bare['names'])
        ours = cost(bench, wanted, bench.attar, 'symbols', '--style=llvm', bench.attar)
        theirs = cost(bench, wanted, llvm, f'--obj={bench.attar}')
        time.add(ours['cpu'], theirs['cpu'])
        memory.add(ours['rss'] / 1e6, theirs['rss'] / 1e6)
        theirs = cost(bench, wanted, addr2line, '-i', '-f', '-C', '-e', bench.attar)
        other.add(ours['cpu'], theirs['cpu'])


def cost(bench, addresses, *command):
    """The cost of a command that reads the addresses."""
    with addresses.open() as lines:
        return bench.cost(*command, stdin=lines)
