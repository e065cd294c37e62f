# SPDX-License-Identifier: MIT
"""Recordings that another user has made or changes, which root analyses."""
import os
import shutil
import time

import pytest

from adversary import UID
from command import run, workload
from perf_data import Recording

SECRET = 'root:$6$TOPSECRET$hash:19000:0:99999:7:::\n'

# Cuts the file to any length, and restores it.
REWRITE = '''
import os, random, sys
data = open(sys.argv[1], 'rb').read()
file = os.open(sys.argv[1], os.O_RDWR)
print(flush=True)
while True:
    n = random.randrange(len(data))
    os.ftruncate(file, n)
    os.pwrite(file, data[n:], n)
    at = random.randrange(len(data) - 8)
    os.pwrite(file, os.urandom(8), at)
    os.pwrite(file, data[at:at + 8], at)
'''


def with_mapping(path, named, owner=UID, address=0x400000):
    """A recording of samples in a file, at all pages of its beginning."""
    recording = Recording()
    recording.comm(1, 'victim')
    recording.mmap(2, named, address, 1 << 20, 0)
    for number in range(256):
        recording.sample(3 + number, ip=address + number * 0x1000 // 8)
    recording.round()
    recording.write(path)
    os.chown(path, owner, owner)
    return path


def analysed(path, *words):
    begin = time.monotonic()
    done = run('profile', '-g', '--lines', '--input', path, *words, timeout=60)
    assert time.monotonic() - begin < 10
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize('kind', ['text', 'fifo', 'directory', 'socket', '/dev/zero', '/dev/tty',
                                  '/dev/mem', '/proc/kmsg', '/proc/kcore', '/proc/self/mem',
                                  'link', 'loop'])
def test_files_that_are_no_programs_are_not_read(kind, tmp_path, theirs, secret, nobody):
    """Nothing of them is shown, and none makes attar wait."""
    secret.write_text(SECRET)
    path = theirs / 'named'
    if kind == 'text':
        path = secret
    elif kind == 'fifo':
        nobody.run('mkfifo', path)
    elif kind == 'directory':
        path = secret.parent
    elif kind == 'socket':
        nobody.python('import socket, sys, time; s = socket.socket(socket.AF_UNIX);'
                      's.bind(sys.argv[1]); s.listen(); print(flush=True); time.sleep(600)', path)
    elif kind == 'link':
        nobody.run('ln', '-s', secret, path)
    elif kind == 'loop':
        nobody.run('ln', '-s', path, path)
    else:
        path = kind
    text = analysed(with_mapping(tmp_path / 'x.data', path))
    assert 'TOPSECRET' not in text


@pytest.mark.parametrize('words', [('top',), ('profile', '-g'), ('trace',)])
def test_a_recording_that_changes_while_it_is_read(words, tmp_path, theirs, nobody):
    """It is refused, or its damage is reported."""
    path = theirs / 'x.data'
    done = run('record', '-q', '-g', '-F', '4999', '-e', 'cpu-clock', '-o', tmp_path / 'x.data',
               '--', workload('split7030'), '30')
    assert done.returncode == 0, done.stderr
    shutil.copy(tmp_path / 'x.data', path)
    os.chown(path, UID, UID)
    nobody.python(REWRITE, path)
    for _ in range(20):
        done = run(*words, '--input', path, timeout=60)
        assert done.returncode in (0, 1), (done.returncode, done.stderr)


@pytest.mark.parametrize('text', ['\x1b]0;owned\x07', '\x1b[2J', '\r\nattar: all is well\n',
                                  '‮gnp', '\x9b31m', '<script>alert(1)</script>'])
def test_names_in_a_recording_are_only_text(text, tmp_path):
    recording = Recording()
    recording.comm(1, text[:15])
    recording.mmap(2, f'/usr/bin/{text}', 0x400000, 1 << 20, 0)
    recording.sample(3, ip=0x400100)
    recording.round()
    path = recording.write(tmp_path / 'x.data')
    os.chown(path, UID, UID)
    for words in (('top',), ('profile', '-g'), ('trace',)):
        done = run(*words, '--input', path)
        shown = done.stdout + done.stderr
        assert done.returncode == 0 and 'attar: all is well\n' not in shown.splitlines(True)
        assert not [c for c in shown if c != '\n' and not c.isprintable()]
    assert run('profile', '-q', '-g', '--input', path, '-o', tmp_path / 'x.html').returncode == 0
    assert '<script>alert' not in (tmp_path / 'x.html').read_text()


def test_a_recording_that_names_a_kernel_image_of_others(tmp_path, theirs):
    """A mapping of the kernel does not make attar read another file than the kernel's."""
    recording = Recording()
    recording.mmap(1, '[kernel.kallsyms]_text', 0xffffffff81000000, 1 << 24, 0, pid=0xffffffff)
    recording.mmap(2, theirs / 'evil.ko', 0xffffffffc0000000, 1 << 20, 0, pid=0xffffffff)
    recording.sample(3, ip=0xffffffffc0000100, misc=1)
    recording.round()
    os.mkfifo(theirs / 'evil.ko')
    os.chown(theirs / 'evil.ko', UID, UID)
    path = recording.write(tmp_path / 'x.data')
    os.chown(path, UID, UID)
    analysed(path)
