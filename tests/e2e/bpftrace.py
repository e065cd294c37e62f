# SPDX-License-Identifier: MIT
"""Compares profilers with bpftrace, which runs the same program at the same time."""
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from command import run
from scripts import lacks_events, rows_of

TOOLS = Path('/usr/sbin')
WRITES_PID = 'import os, sys, time\nopen(sys.argv[2], "w").write(str(os.getpid()))\n'


def turns(n, child=''):
    """Two processes that wake each other up n times; the second one first runs the line `child`."""
    return f'''
pipes = [os.pipe(), os.pipe()]
if not os.fork():
    {child}
    while os.read(pipes[0][0], 1) == b'x': os.write(pipes[1][1], b'y')
    os._exit(0)
for _ in range({n}):
    os.write(pipes[0][1], b'x')
    os.read(pipes[1][0], 1)
os.write(pipes[0][1], b'z')
os.wait()
'''


def both(tmp_path, name, program, script, *args):
    """
    Run `attar NAME -- bpftrace -c PROGRAM SCRIPT` with a program in Python. Return the rows of
    attar by section, the lines of bpftrace, and the program's pid.
    """
    if not shutil.which('bpftrace'):
        pytest.skip('bpftrace is not installed')
    file, out, copy = (tmp_path / n for n in ('program.py', 'attar.json', 'tool.bt'))
    copy.write_text(script)
    file.write_text(WRITES_PID + program)
    ended = run(name, '-q', '-m', 1024, '-o', out, *args, '--', 'bpftrace', '-c',
                f'{sys.executable} -I -S {file} {out} {tmp_path}/pid', copy)
    if ended.returncode:
        pytest.skip(f'bpftrace does not work here: {ended.stderr.strip()[-200:]}')
    return sections(out), ended.stdout.splitlines(), int((tmp_path / 'pid').read_text())


def sections(path):
    """Return the rows of attar's reports by section."""
    found = {}
    for line in path.read_text().splitlines():
        for s in json.loads(line)['sections']:
            found.setdefault(s['name'], []).extend(rows_of(s))
    return found


def lost(path):
    """Whether one of the reports says that attar did not receive events."""
    return any(lacks_events(json.loads(line)) for line in path.read_text().splitlines())


def maps(lines):
    """Return the numbers of "@name: 12" and "@name[34, x]: 12", by "name" and ("name", "34, x")."""
    found = {}
    for line in lines:
        entry = re.fullmatch(r'@(\w+)(?:\[(.*)\])?: (-?\d+)', line)
        if entry:
            found[(entry[1], entry[2]) if entry[2] else entry[1]] = int(entry[3])
    return found


def histogram(lines):
    """The counts of "[8K, 16K)   12 |@@@ |" by the lower bound."""
    unit = {'': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
    found = {}
    for line in lines:
        bucket = re.match(r'[\[(](\d*)([KMG]?)[,\]].*?(\d+) \|', line)
        if bucket:
            found[int(bucket[1] or 0) * unit[bucket[2]]] = int(bucket[3])
    return found
