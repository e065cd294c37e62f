# SPDX-License-Identifier: MIT
"""attar dnslat with a name server that answers at once, after a while, or not at all."""
import os
import shutil
import subprocess

import pytest

from command import run
from scripts import report_until, rows

pytestmark = pytest.mark.usefixtures('root')
NAME = f'dns{os.getpid()}'  # of a copy of getent, which other tests do not run

# A server of a network namespace: 127.0.0.3:53; it answers nothing for names of nowhere.test.
SERVER = r'''
import socket, subprocess, sys, threading, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.3', 53))
def answer(query, client):
    at, name = 12, ''
    while query[at]:
        name += query[at + 1:at + 1 + query[at]].decode() + '.'
        at += 1 + query[at]
    kind = query[at + 1:at + 3]
    if name.startswith('slow'):
        time.sleep(0.6)
    found = kind == b'\0\1' and not name.startswith('nowhere')
    head = query[:2] + (b'\x81\x83' if name.startswith('nowhere') else b'\x81\x80')
    head += b'\0\1' + (b'\0\1' if found else b'\0\0') + bytes(4)
    reply = b'\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x0a\1\2\3' if found else b''
    server.sendto(head + query[12:at + 5] + reply, client)
def serve():
    while True:
        query, client = server.recvfrom(512)
        threading.Thread(target=answer, args=(query, client), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
for name in sys.argv[2:]:
    subprocess.run([sys.argv[1], 'ahostsv4', name], stdout=subprocess.DEVNULL)
'''
INSIDE = ('ip link set lo up && ip address add 10.9.9.9/32 dev lo && '
          'mount --bind "$0" /etc/resolv.conf && '
          'mount --bind "$1" /etc/nsswitch.conf && shift && exec /usr/bin/python3 "$@"')


def lookups(tmp_path, *names):
    (tmp_path / 'resolv.conf').write_text('nameserver 127.0.0.3\n')
    (tmp_path / 'nsswitch.conf').write_text('hosts: files dns\n')
    (tmp_path / 'server.py').write_text(SERVER)
    shutil.copy('/usr/bin/getent', tmp_path / NAME)
    return ['unshare', '-mn', 'sh', '-c', INSIDE, tmp_path / 'resolv.conf',
            tmp_path / 'nsswitch.conf', tmp_path / 'server.py', tmp_path / NAME, *names]


def test_latency_by_host_and_server(tmp_path):
    command = lookups(tmp_path, 'fast.test', 'slow.test', 'fast.test', 'nowhere.test', 'localhost')
    found = report_until(lambda r: sum(x['lines'] for x in rows(r, 'by HOST')) == 5, 'dnslat', '-a',
                         '-n', NAME, '--', *command)
    hosts = {r['HOST']: r for r in rows(found, 'by HOST')}
    assert {name: r['lines'] for name, r in hosts.items()} == {
        'fast.test': 2, 'slow.test': 1, 'nowhere.test': 1, 'localhost': 1}
    assert 0.6e9 <= hosts['slow.test']['total'] < 5e9 and hosts['slow.test']['max'] >= 0.59e9
    assert hosts['fast.test']['max'] < 0.6e9
    server, = rows(found, 'by SERVER')
    assert (server['SERVER'], server['lines']) == ('127.0.0.3', 4)


def test_lines(tmp_path):
    command = lookups(tmp_path, 'slow.test', 'nowhere.test', 'localhost')
    text = run('dnslat', '-a', '-n', NAME, '--format', 'csv', '--', *command).stdout
    lines = [line.split(',')[3:6] for line in text.splitlines() if f',{NAME},' in line]
    assert [line for line in lines if len(line[0]) > 6][:3] == [
        ['slow.test', '127.0.0.3', 'ok'], ['nowhere.test', '127.0.0.3', 'EAI_NONAME'],
        ['localhost', '', 'ok']]
    text = run('dnslat', '-a', '-n', NAME, '--than', '500ms', '--', *command).stdout
    assert 'slow.test' in text and 'nowhere.test' not in text


CALLS = r'''
import ctypes, socket
libc, size = ctypes.CDLL(None), 4096
libc.gethostbyname.restype = ctypes.c_void_p
for name in (b'nowhere.test', b'fast.test'):
    try:
        socket.getaddrinfo(name, 80, socket.AF_INET)
    except socket.gaierror:
        pass
    libc.gethostbyname(name)
    buffer, found, error = ctypes.create_string_buffer(size), ctypes.c_void_p(), ctypes.c_int()
    libc.gethostbyname_r(name, ctypes.create_string_buffer(64), buffer, size, ctypes.byref(found),
                         ctypes.byref(error))
'''


def test_functions_that_use_each_other(tmp_path):
    """For IPv4 only, getaddrinfo(3) calls gethostbyname2_r(3), which returns 0 in any case."""
    command = lookups(tmp_path, CALLS)
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).symlink_to('/usr/bin/python3')
    (tmp_path / 'server.py').write_text(SERVER.replace("'ahostsv4'", "'-c'"))
    text = run('dnslat', '-a', '-n', NAME, '--format', 'csv', '--', *command).stdout
    lines = [line.split(',')[3:6] for line in text.splitlines() if f',{NAME},' in line]
    assert [line for line in lines if len(line[0]) > 6][:6] == [
        ['nowhere.test', '127.0.0.3', 'EAI_NONAME'], ['nowhere.test', '127.0.0.3', 'failed'],
        ['nowhere.test', '127.0.0.3', 'returned'], ['fast.test', '127.0.0.3', 'ok'],
        ['fast.test', '127.0.0.3', 'ok'], ['fast.test', '127.0.0.3', 'returned']]


def test_summary_needs_a_column():
    ended = run('snoop', '-e', 'sched:sched_process_exec//column=FILE:filename/', '--summary',
                'PATH', '-d', '1ms')
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "attar: --summary: the first event has no column 'PATH': name one of its attributes")


def test_columns_of_givers_must_be_known():
    ended = run('snoop', '-e', 'uprobe:getaddrinfo//args=(a=$arg1)/column=A:a/column=B:""/,'
                'uprobe:connect//role=2/args=(c=$arg1)/column=C:c/', '-e',
                'uretprobe:getaddrinfo//args=(r=$retval)/column=R:r/', '-d', '1ms')
    assert ended.returncode == 2 and 'differ in the number or types' in ended.stderr


def test_probe_without_a_file_is_in_libc():
    ended = run('trace', '-e', 'uprobe:getaddrinfo', '--', 'getent', 'ahosts', 'localhost')
    assert ended.returncode == 0 and 'uprobe:getaddrinfo' in ended.stdout
    ended = run('trace', '-e', 'uprobe:no_such_function', '-d', '1ms')
    assert ended.returncode == 2
    assert "the C library has no function 'no_such_function'" in ended.stderr
    with subprocess.Popen(['sleep', '60']) as sleep:
        ended = run('trace', '-e', 'uprobe:no_such_function', '-d', '1ms', '-p', sleep.pid)
        sleep.kill()
    assert ended.returncode == 2
    assert "the files of the processes have no function 'no_such_function'" in ended.stderr
