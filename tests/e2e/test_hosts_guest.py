# SPDX-License-Identifier: MIT
"""A guest is a host with another kernel and another clock: its events are in order with ours."""
import re
import sys
import threading

import pytest

import guest
from command import ATTAR, wait_until, write_secret
from test_hosts import ENTER, Trace
from test_push import free_port

TURNS = 200
CALLS = f'{ENTER}/id==110 && comm=="player"/'
# This machine begins each turn; the guest answers. Both call getppid(2) before they send.
FIRST = f'''
import os, socket, sys
open('/proc/self/comm', 'w').write('player')
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
for _ in range({TURNS}):
    os.getppid()
    s.sendall(b'x')
    assert s.recv(1)
'''
# Lets the clock of the guest run faster for some time, and writes how far it is ahead. Receivers
# then have some time to see it.
DRIFT = '''
import ctypes, struct, sys, time
TICK, AT, USUAL_US = 0x4000, 88, 10000  # adjtimex(2)
def set_tick(us):
    timex = ctypes.create_string_buffer(208)
    struct.pack_into('<I', timex, 0, TICK)
    struct.pack_into('<q', timex, AT, us)
    assert ctypes.CDLL(None).adjtimex(timex) >= 0
def ahead():
    return time.clock_gettime(time.CLOCK_MONOTONIC) - time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
before = ahead()
set_tick(USUAL_US * 102 // 100)
time.sleep(3)
set_tick(USUAL_US)
time.sleep(3)
open(sys.argv[1], 'w').write(str(ahead() - before))
'''
SECOND = f'''
import glob, os, time
open('/proc/self/comm', 'w').write('player')
fd = os.open(glob.glob('/dev/vport*p3')[0], os.O_RDWR)
for _ in range({TURNS}):
    while not os.read(fd, 1):
        time.sleep(0.01)  # the other end is not connected yet
    os.getppid()
    os.write(fd, b'x')
'''


@pytest.fixture(params=[False, True], ids=['steady', 'drifting'])
def drifts(request):
    """Whether the clock of the guest is too fast for some time."""
    return request.param


@pytest.fixture
def pushing(tmp_path, drifts):
    """The options to pull the calls of the second player, in a guest."""
    key, log, port, ended = tmp_path / 'key', tmp_path / 'pushed', free_port(), []
    write_secret(key, '0123456789abcdef' * 4 + '\n')
    (tmp_path / 'second.py').write_text((DRIFT if drifts else '') + SECOND)
    script = ('tests/vm/load virtio_net && ip link set eth0 up && hostname there && '
              'ip address add 10.0.2.15/24 dev eth0 && '
              f'{ATTAR} record -e \'{CALLS}\' --push 10.0.2.15:9100 --peer-psk {key} -- '
              f'{guest.PYTHON} {tmp_path}/second.py {tmp_path}/drift >{log} 2>&1')

    def boot():
        ended.append(guest.boot('debian', 'sh', '-c', script, share=[tmp_path], timeout=600,
                                port=tmp_path / 'port', forward=port, cwd=guest.ROOT))
    thread = threading.Thread(target=boot, daemon=True)
    thread.start()
    wait_until(lambda: ended or (log.exists() and 'as soon as' in log.read_text()), 'the guest',
               500)
    assert not ended, (ended, log.exists() and log.read_text())
    yield f'{ENTER}//pull="127.0.0.1:{port}"/', ['--peer-psk', key]
    thread.join(60)
    assert ended and ended[0].returncode == 0, ended
    assert f'{TURNS} samples were pushed to 1 receiver' in log.read_text()


@pytest.mark.guest('debian')
def test_answers_follow_their_calls(root, needs_perf, drifts, pushing, spawn, tmp_path):
    """
    Two programs take turns, here and in the guest: events are ordered within the estimated clock
    error, which is smaller than the drift accumulated after the connection.
    """
    pulled, options = pushing
    (tmp_path / 'first.py').write_text(FIRST)
    trace = Trace(spawn, tmp_path, '-e', pulled, '-e', CALLS, *options,
                  f'{sys.executable} {tmp_path}/first.py {tmp_path}/port')
    wait_until(lambda: len(trace.rows()) >= 2 * TURNS, 'all events', 100)
    rows, last = trace.end()
    there = [row['time'] for row in rows if row['host'] == 'there']
    here = [row['time'] for row in rows if row['host'] != 'there']
    assert len(here) == len(there) == TURNS
    error, = (1000 * float(found[1]) for remark in last['remarks']
              if (found := re.search(r'has an error of ([0-9.]+) us', remark)))
    if drifts:
        drift = 1e9 * float((tmp_path / 'drift').read_text())
        assert drift > 40e6 and error < 0.8 * drift
    turns = list(zip(here, there))
    assert all(answer > call - error for call, answer in turns)
    assert all(call > answer - error for (_, answer), (call, _) in zip(turns, turns[1:]))
    assert [row['time'] for row in rows] == sorted(row['time'] for row in rows)
