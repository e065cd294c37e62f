# SPDX-License-Identifier: MIT
"""
Unwinds the core files of unwind_compare by gdb, which decides between the stacks of attar and of
libdw.

    unwind_compare x.data FOLDER; python3 tests/e2e/unwind_gdb.py FOLDER

gdb reads the call frame information of the files on its own. Without a symbol and call frame
information, as in code of a JIT compiler, it takes the top of the stack for the return address: a
stack is compared as far as gdb has code of a file.
"""
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

# Prints a line for each stack: its number and the addresses of its frames.
SCRIPT = '''
import gdb
def stack(number, core):
    try:
        gdb.execute('core-file ' + core, to_string=True)
        frame, pcs = gdb.newest_frame(), []
        while frame and len(pcs) < 2000:
            if frame.type() != gdb.INLINE_FRAME:
                pcs.append(frame.pc())
            frame = frame.older()
    except gdb.error as error:
        print(error)
    print('stack', number, *pcs)
'''


def vdso(folder):
    """A file with this process's vDSO, which is that of all processes."""
    maps = Path('/proc/self/maps').read_text()
    found = re.search(r'^(\w+)-(\w+) .*\[vdso\]', maps, re.M)
    start, end = (int(text, 16) for text in found.groups())
    with open('/proc/self/mem', 'rb') as memory:
        memory.seek(start)
        (folder / 'vdso').write_bytes(memory.read(end - start))
    return folder / 'vdso'


def bias(path, start, offset):
    """The difference between the addresses of a file's code and those in memory."""
    with open(path, 'rb') as file:
        header = file.read(64)
        at, = struct.unpack_from('<Q', header, 32)
        size, n = struct.unpack_from('<HH', header, 54)
        file.seek(at)
        segments = [struct.unpack('<IIQQQQQQ', file.read(size)) for _ in range(n)]
    for kind, _, from_, vaddr, _, in_file, _, _ in segments:
        if kind == 1 and from_ & -4096 <= offset < from_ + in_file:
            return start - offset - (vaddr - from_)
    raise ValueError(f'{path} has no code at offset {offset}')


def by_gdb(stacks, folder):
    """The addresses of each stack by gdb. All are of processes with the same mappings."""
    script, files = [SCRIPT], {}
    for path, start, offset in stacks[0]['modules']:
        file = vdso(folder) if path == '[vdso]' else path
        files[file, bias(file, start, offset)] = None
    script += [f'gdb.execute("add-symbol-file {file} -o {distance:#x}", to_string=True)'
               for file, distance in files]
    script += [f'stack({number}, "{stack["core"]}")' for number, stack in enumerate(stacks)]
    (folder / 'script.py').write_text('\n'.join(script))
    done = subprocess.run(
        ['gdb', '-nx', '-batch', '-iex', 'set debuginfod enabled off', '-iex', 'set confirm off',
         '-ex', 'set backtrace past-main on', '-x', folder / 'script.py'],
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    found = re.findall(r'^stack (\d+)(.*)$', done.stdout, re.M)
    # a caller at 0: gdb ends there
    return {int(number): [int(pc) for pc in pcs.split() if pc != '0'] for number, pcs in found}


def is_same(attar, gdb):
    """attar's addresses are in the call."""
    return gdb - attar in (0, 1)


def verdict(stack, gdb):
    """Who has the frame that gdb has where the stacks of attar and libdw differ."""
    attar, libdw, n = stack['attar'], stack['libdw'], stack['equal']
    gdb = attar[:stack['left']] + gdb
    if not all(map(is_same, attar[:n], gdb[:n])) or len(gdb) < n:
        return 'neither'
    if len(gdb) == n:
        return 'attar' if len(attar) == n else 'libdw' if len(libdw) == n else 'neither'
    if n < len(attar) and is_same(attar[n], gdb[n]):
        return 'attar'
    return 'libdw' if n < len(libdw) and libdw[n] == gdb[n] else 'neither'


def is_whole(stack, gdb):
    """Whether attar and gdb have the same frames, all of them."""
    attar = stack['attar'][stack['left']:]
    return len(attar) == len(gdb) and all(map(is_same, attar, gdb))


def judge(folder):
    """How many stacks each has right, by kind, and how many are equal to gdb's as a whole."""
    stacks = [json.loads(line) for line in (folder / 'stacks').read_text().splitlines()]
    groups, counts = {}, {'attar': 0, 'libdw': 0, 'neither': 0, 'whole': 0}
    for stack in stacks:
        groups.setdefault(json.dumps(stack['modules']), []).append(stack)
    for group in groups.values():
        for number, gdb in by_gdb(group, folder).items():
            stack = group[number]
            if stack['kind'] != 'equal':
                counts[verdict(stack, gdb)] += 1
            counts['whole'] += is_whole(stack, gdb)
    return counts


if __name__ == '__main__':
    print(json.dumps(judge(Path(sys.argv[1]))))
