# SPDX-License-Identifier: MIT
"""Names of threads, files and arguments of another user, in results of each format."""
import csv
import json
import re
import sqlite3

import pytest

from command import run

NAMES = ['=cmd|1!A0', '@SUM(1)', '+1+1', '-2+3', '\x1b[31mred', 'a\nb\rc', '"};evil{a="',
         '</script><b>', '\u202egpj', '\x9b31m', "'; DROP --", '%s%n%d', '\x7f\x08']

# Renames threads, opens files and executes programs with these names, and with bytes that are no
# UTF-8.
PROGRAM = '''
import ctypes, os, signal, sys, time
names = [name.encode() for name in eval(sys.argv[1])] + [b'\\xff\\xfe\\x80']
print(flush=True)
for name in names:
    if not os.fork():
        break
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
while True:
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    if not os.path.exists(name):
        pid = os.fork()
        if not pid:
            try:
                os.execv('/bin/true', [name, b'=' + name, name])
            finally:
                os._exit(1)
        os.waitpid(pid, 0)
    time.sleep(.02)
'''

HOSTILE = re.compile('[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]')
FORMULA = re.compile(r'[=@\t\r]|[+-](?![\d.]+$)')
SAMPLE = re.compile(r'[a-zA-Z_:][\w:]*(\{(\w+="([^"\\\n]|\\[\\n"])*",?)*\})? [-+.\w]+( \d+)?')


def check_csv(path):
    with path.open(newline='', encoding='utf-8') as file:
        for row in csv.reader(file):
            assert not [cell for cell in row if FORMULA.match(cell)], row


def check_prometheus(path):
    for line in path.read_text('utf-8').splitlines():
        assert not line or line.startswith('#') or SAMPLE.fullmatch(line), line


def check_database(path):
    base = sqlite3.connect(path)
    assert base.execute('PRAGMA integrity_check').fetchall() == [('ok',)]
    for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        base.execute(f'SELECT * FROM "{table}"').fetchall()


CHECKS = {
    'csv': check_csv,
    'prom': check_prometheus,
    'db': check_database,
    'json': lambda path: [json.loads(line) for line in path.read_text('utf-8').splitlines()],
    'html': lambda path: '</script><b>' not in path.read_text('utf-8') or pytest.fail('a tag'),
    'txt': lambda path: None,
}


@pytest.mark.parametrize('words', [
    ['execsnoop', '-a'], ['opensnoop', '-a', '--failed'], ['oncpu', '-a'], ['rundelay', '-a']],
    ids=lambda words: words[0])
def test_names_do_not_leave_their_places(words, tmp_path, nobody):
    nobody.python(PROGRAM, repr(NAMES))
    outputs = [word for extension in CHECKS for word in ('-o', tmp_path / f'out.{extension}')]
    done = run(*words, '-d', '1s', *outputs)
    assert done.returncode == 0, done.stderr
    assert not HOSTILE.search(done.stdout + done.stderr)
    for extension, check in CHECKS.items():
        path = tmp_path / f'out.{extension}'
        check(path)
        assert extension == 'db' or not HOSTILE.search(path.read_text('utf-8')), path
