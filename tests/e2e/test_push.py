# SPDX-License-Identifier: MIT
"""--push and --pull: events sent from one attar to another arrive once, or are counted as lost."""
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from command import ATTAR, has, run, wait_until, workload, write_secret
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

CALLS = 5000
GETPPID = 'raw_syscalls:sys_enter/id==110/'
HELLO, PING, PONG, START, DATA, ACK, END = range(1, 8)


def frame(kind, payload=b'', sequence=0, samples=0, version=1):
    """A frame, as src/peer/frame.h describes it."""
    def header(crc):
        return b'ATFR' + struct.pack('<BBHIIQQ', version, kind, 0, len(payload), crc, sequence,
                                     samples)
    return header(zlib.crc32(header(0) + payload)) + payload


def free_port():
    """A port that the kernel does not assign to others."""
    first = int(Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()[0])
    for port in random.sample(range(max(1024, first - 20000), first), 100):
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(('127.0.0.1', port))
            return port
    raise AssertionError('no port is free')


def listens(address):
    """Whether a process listens at an address of --push, see proc_net(5) and unix(7)."""
    if address.startswith('unix:'):
        lines = map(str.split, Path('/proc/net/unix').read_text().splitlines())
        return any(words[3] == '00010000' and words[-1] == address[5:] for words in lines)
    port = f':{int(address.rpartition(":")[2]):04X}'
    lines = map(str.split, Path('/proc/net/tcp').read_text().splitlines())
    return any(words[1].endswith(port) and words[3] == '0A' for words in lines)


def connections(address):
    """The number of connections to a Unix socket."""
    lines = map(str.split, Path('/proc/net/unix').read_text().splitlines())
    return sum(words[5] == '03' and words[-1] == address[5:] for words in lines)


@pytest.fixture(params=['unix', 'tcp', 'tls'])
def address(request, tmp_path):
    """An address, and the options that both sides need."""
    if request.param == 'unix':
        return f'unix:{tmp_path}/socket', []
    if request.param == 'tcp':
        return str(free_port()), []
    write_secret(tmp_path / 'key', '0123456789abcdef' * 4 + '\n')
    return f'127.0.0.1:{free_port()}', ['--peer-psk', tmp_path / 'key']


@pytest.fixture
def push(spawn):
    """Start to push the calls of a program that makes CALLS of them."""
    def start(address, *args, command=None, pages=1024, event=GETPPID):
        command = command or [workload('flood'), CALLS]
        process = spawn(ATTAR, 'record', '-m', str(pages), '-e', event, '--push', address,
                        *map(str, args), '--', *map(str, command), stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True)
        if not address.startswith('/'):
            wait_until(lambda: listens(address) or process.poll() is not None, 'a listener')
        return process
    return start


@pytest.fixture
def gate(tmp_path):
    """A gate whose command makes its calls when open() is called."""
    with open(tmp_path / 'gate', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Gate(lock)


class Gate:
    def __init__(self, lock):
        self.lock = lock

    def command(self, calls=CALLS):
        return ['flock', self.lock.name, workload('flood'), calls]

    def open(self):
        self.lock.close()


def pull(address, *args, status=0):
    done = run('top', '-q', '--format', 'json', '-e', 'raw_syscalls:sys_enter', '--pull', address,
               *args)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if status == 0 else done.stderr


def counts(report):
    """The samples and the lost ones, and those of each task."""
    table = report['sections'][0]
    rows = rows_of(table)
    return (report['notes']['seen'], report['notes']['lost'],
            {row['comm']: row['raw_syscalls:sys_enter'] for row in rows})


def said(process):
    """What the process printed until its end."""
    out = process.communicate(timeout=60)[0]
    assert process.returncode == 0, out
    return out


def test_a_sender_without_events_ends_intervals_and_the_run(push, address, gate):
    """The time of the run follows the sender, not only its events."""
    where, options = address
    push(where, *options, command=gate.command())
    began = time.monotonic()
    done = run('top', '--format', 'json', '-e', 'raw_syscalls:sys_enter', '--pull', where, *options,
               '-i', '400ms', '-d', '1500ms')
    assert 1.2 <= time.monotonic() - began < 10
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(r['interval_ns'] for r in reports) == 1_500_000_000
    assert len(reports) > 1 and all(r['interval_ns'] % 100_000_000 == 0 for r in reports)
    assert not any(r['notes']['seen'] for r in reports)


def test_every_event_arrives_once(push, address):
    where, options = address
    pushing = push(where, *options)
    assert counts(pull(where, *options)) == (CALLS, 0, {'flood': CALLS})
    out = said(pushing)
    assert f'{CALLS} samples were pushed to 1 receiver at {where}' in out
    assert 'file' not in out


# Makes a burst of calls when it reads a line, then a few all the time after another line.
CALLER = '''
import os, sys, time
sys.stdin.readline()
for _ in range(100000):
    os.getppid()
print(flush=True)
sys.stdin.readline()
while True:
    os.getppid()
    time.sleep(0.001)
'''


@pytest.mark.parametrize('option', ['-p', '-t'])
def test_a_running_program_is_recorded_from_the_connection_on(spawn, tmp_path, option):
    """Not what it did while the sender waited: the rings have room for a tenth of that."""
    where = f'unix:{tmp_path}/socket'
    caller = spawn(sys.executable, '-c', CALLER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                   text=True)
    pushing = spawn(ATTAR, 'record', '-e', GETPPID, '--push', where, option, str(caller.pid),
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(lambda: listens(where) or pushing.poll() is not None, 'a listener')
    caller.stdin.write('\n')
    caller.stdin.flush()
    caller.stdout.readline()
    connected = time.monotonic()
    pulling = spawn(ATTAR, 'trace', '-e', 'raw_syscalls:sys_enter', '--pull', where, '-N', '100',
                    '--monotonic', '--format', 'csv', stdout=subprocess.PIPE, text=True)
    wait_until(lambda: connections(where), 'a connection')
    caller.stdin.write('\n')
    caller.stdin.flush()
    lines = pulling.communicate(timeout=60)[0].splitlines()[1:]
    assert len(lines) == 100 and all(float(line.split(',')[0]) > connected for line in lines)
    pushing.send_signal(signal.SIGINT)
    out = pushing.communicate(timeout=60)[0]
    assert int(re.search(r'(\d+) samples seen, 0 lost', out)[1]) >= 100


def test_a_receiver_that_connects_later_has_the_names(push, tmp_path):
    """Of a program that was started after the first one had connected."""
    fifo = tmp_path / 'fifo'
    os.mkfifo(fifo)
    pushing = push(f'unix:{tmp_path}/socket', event='raw_syscalls:sys_enter/id==0 && comm=="cat"/',
                   command=['sh', '-c', f'cat {fifo} >/dev/null; true'])
    receivers = [Receiver(tmp_path / 'socket')]
    with open(fifo, 'w', encoding='ascii') as end:  # cat has opened it
        wait_until(lambda: any(samples for _, samples in receivers[0].frames()), 'its records')
        receivers.append(Receiver(tmp_path / 'socket'))
        wait_until(lambda: receivers[1].has_data, 'its start')
        end.write('x')
    said(pushing)
    for number, receiver in enumerate(receivers):
        receiver.join(30)
        (tmp_path / f'{number}').write_bytes(receiver.bytes)
    first, later = (counts(pull(tmp_path / f'{number}')) for number in range(2))
    assert first[2].keys() == later[2].keys() == {'cat'}
    assert 1 <= later[0] < first[0]


def test_a_file_has_every_event(push, tmp_path):
    where = f'{tmp_path}/events'
    said(push(where))
    assert counts(pull(where)) == (CALLS, 0, {'flood': CALLS})


def test_samples_that_a_full_disk_refuses_are_counted(push, spawn, tmp_path):
    """
    Without SIGXFSZ, which Python ignores, write(2) fails at the limit. There is room for the names
    of the kernel's functions and for some samples.
    """
    said(push(f'{tmp_path}/one', command=[workload('flood'), 1]))
    room = (tmp_path / 'one').stat().st_size + (64 << 10)
    pushing = spawn('prlimit', f'--fsize={room}', ATTAR, 'record', '-m', '1024', '-e', GETPPID,
                    '--push', tmp_path / 'events', '--', workload('flood'), CALLS,
                    restore_signals=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True)
    out = said(pushing)
    assert 'File too large' in out
    pushed = int(re.search(r'(\d+) samples were pushed', out)[1])
    assert 0 < int(re.search(r'(\d+) pushed samples were not acknowledged', out)[1]) <= pushed


def test_an_event_that_a_profiler_uses_twice_is_pushed_once(tmp_path):
    """Such as sched:sched_switch, the start and the end of pairs of runqlat."""
    where = f'{tmp_path}/events'
    both = f'{GETPPID[:-1]}/alias=one/,{GETPPID[:-1]}/alias=two/'
    done = run('top', '-m', '1024', '--format', 'json', '-e', both, '--push', where, '--',
               workload('flood'), CALLS)
    assert done.returncode == 0, done.stderr
    here = json.loads(done.stdout)['sections'][0]
    row, = rows_of(here)
    assert row['one'] == row['two'] == CALLS
    assert counts(pull(where)) == (CALLS, 0, {'flood': CALLS})


def test_pairs_are_the_same_here_and_there(tmp_path):
    where, results = f'{tmp_path}/events', []
    for args in (['-m', '1024', '-d', '500ms', '--push', where], ['--pull', where]):
        done = run('runqlat', '--format', 'json', *args)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report['notes']['lost'] == 0
        results.append((report['sections'], report['notes']['seen'],
                        [text for text in report['remarks'] if 'not part of a pair' in text]))
    assert results[0] == results[1] and results[0][1] > 0


class Receiver(threading.Thread):
    """The bytes of all frames, and the samples of the last."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.socket, self.bytes, self.samples, self.has_data = connect(path), b'', None, False
        self.has_begun = False
        self.start()

    def frames(self):
        at = 0
        while len(self.bytes) - at >= 32:
            length, = struct.unpack_from('<I', self.bytes, at + 8)
            if len(self.bytes) - at < 32 + length:
                return
            yield self.bytes[at + 5], struct.unpack_from('<Q', self.bytes, at + 24)[0]
            at += 32 + length

    def run(self):
        self.socket.sendall(frame(HELLO) + frame(START, sequence=1))
        self.has_begun = True
        while got := self.socket.recv(1 << 20):
            self.bytes += got
            self.has_data = self.has_data or any(kind == DATA for kind, _ in self.frames())
            if self.has_data and frame_is_last(self.bytes):
                *_, (_, self.samples) = self.frames()
                self.socket.sendall(frame(END, sequence=2, samples=self.samples))


def frame_is_last(bytes_):
    return bytes_[-32:-26] == b'ATFR' + bytes([1, END])


def test_several_can_pull(push, gate, tmp_path):
    pushing = push(f'unix:{tmp_path}/socket', command=gate.command())
    receivers = [Receiver(tmp_path / 'socket') for _ in range(2)]
    wait_until(lambda: all(c.has_data for c in receivers), 'the start of both')
    gate.open()
    out = said(pushing)
    assert f'{2 * CALLS} samples were pushed to 2 receivers' in out
    assert 'not acknowledged' not in out
    for number, receiver in enumerate(receivers):
        receiver.join(30)
        assert receiver.samples == CALLS
        (tmp_path / f'{number}').write_bytes(receiver.bytes)
        assert counts(pull(tmp_path / f'{number}')) == (CALLS, 0, {'flood': CALLS})


def test_what_a_stopped_receiver_does_not_read_is_counted(push, gate, spawn, tmp_path):
    """
    sent = received + lost when the queue of 8 MiB and the socket overflow. The program exits
    when the receiver reads again, because attar waits only some seconds for one that does not read.
    """
    calls = 300000
    where, begun, made = f'unix:{tmp_path}/socket', tmp_path / 'begun', tmp_path / 'made'
    calling = ' '.join(map(str, gate.command(calls)))
    end = tmp_path / 'end'
    os.mkfifo(end)
    event = 'raw_syscalls:sys_enter/id==110 && comm=="flood"/'  # a shell calls it, too
    pushing = push(where, pages=16384, event=event, command=[
        'sh', '-c', f'touch {begun}; {calling}; touch {made}; read line <{end}'])
    pulling = spawn(ATTAR, 'top', '-q', '--format', 'json', '-e', 'raw_syscalls:sys_enter',
                    '--pull', where, stdout=subprocess.PIPE, text=True)
    wait_until(begun.exists, 'a connection')
    pulling.send_signal(signal.SIGSTOP)
    gate.open()
    wait_until(made.exists, 'all calls', 60)
    pulling.send_signal(signal.SIGCONT)
    end.write_text('\n')
    got, lost, _ = counts(json.loads(said(pulling)))
    out = said(pushing)
    pushed = int(re.search(r'(\d+) samples were pushed', out)[1])
    dropped = int(re.search(r'(\d+) pushed samples were lost', out)[1])
    in_rings = int(re.search(r'([\d,]+) lost, ', out)[1].replace(',', ''))
    assert pushed + in_rings == calls
    assert dropped > 0
    assert got + dropped == pushed
    assert lost == dropped + in_rings


def test_a_receiver_that_is_busy_at_the_end_gets_all_events(push, gate, spawn, tmp_path):
    """
    For seven seconds after the command has ended: on a slow machine, the names of the kernel's
    functions keep it busy for long.
    """
    where, begun, made = f'unix:{tmp_path}/socket', tmp_path / 'begun', tmp_path / 'made'
    calling = ' '.join(map(str, gate.command()))
    pushing = push(where, event='raw_syscalls:sys_enter/id==110 && comm=="flood"/',
                   command=['sh', '-c', f'touch {begun}; {calling}; touch {made}'])
    pulling = spawn(ATTAR, 'top', '-q', '--format', 'json', '-e', 'raw_syscalls:sys_enter',
                    '--pull', where, stdout=subprocess.PIPE, text=True)
    wait_until(begun.exists, 'a connection')
    pulling.send_signal(signal.SIGSTOP)
    gate.open()
    wait_until(made.exists, 'all calls', 60)
    time.sleep(7)  # it is busy
    pulling.send_signal(signal.SIGCONT)
    assert counts(json.loads(said(pulling))) == (CALLS, 0, {'flood': CALLS})
    assert 'not acknowledged' not in said(pushing)


def test_losses_after_the_last_record_arrive(push, spawn, tmp_path):
    """
    The kernel reports a loss in a ring with the ring's next record. None follows here, because
    the sender is stopped until the program has made its calls.
    """
    calls, made, end = 100000, tmp_path / 'made', tmp_path / 'end'
    where, go = f'unix:{tmp_path}/socket', tmp_path / 'go'
    os.mkfifo(go)
    os.mkfifo(end)
    event = 'raw_syscalls:sys_enter/id==110 && comm=="flood"/'
    pushing = push(where, pages=1, event=event, command=[
        'sh', '-c', f'read l <{go}; {workload("flood")} {calls}; touch {made}; read l <{end}'])
    pulling = spawn(ATTAR, 'top', '-q', '--format', 'json', '-e', 'raw_syscalls:sys_enter',
                    '--pull', where, stdout=subprocess.PIPE, text=True)
    with open(go, 'w', encoding='ascii') as begin:  # the command runs
        pushing.send_signal(signal.SIGSTOP)
        begin.write('\n')
    wait_until(made.exists, 'all calls', 60)
    pushing.send_signal(signal.SIGCONT)
    end.write_text('\n')
    got, lost, _ = counts(json.loads(said(pulling)))
    out = said(pushing)
    assert int(re.search(r'([\d,]+) lost', out)[1].replace(',', '')) == lost > 0
    assert got + lost == calls


def test_a_receiver_has_no_samples_from_before_a_loss_that_it_does_not_know(push, tmp_path):
    """
    The ring has overflowed when the second receiver connects: what it has lost and what it contains
    are of the first receiver only.
    """
    fifos = go, more, end = [tmp_path / name for name in ('go', 'more', 'end')]
    for path in fifos:
        os.mkfifo(path)
    made, flood = tmp_path / 'made', workload('flood')
    pushing = push(f'unix:{tmp_path}/socket', pages=1,
                   event='raw_syscalls:sys_enter/id==110 && comm=="flood"/',
                   command=['sh', '-c', f'read l <{go}; {flood} 100000; touch {made}; '
                                        f'read l <{more}; {flood} 1000; read l <{end}'])
    receivers = [Receiver(tmp_path / 'socket')]
    with open(go, 'w', encoding='ascii') as begin:
        pushing.send_signal(signal.SIGSTOP)
        begin.write('\n')
    wait_until(made.exists, 'all calls', 60)
    receivers.append(Receiver(tmp_path / 'socket'))
    wait_until(lambda: receivers[1].has_begun, 'a connection')
    pushing.send_signal(signal.SIGCONT)
    wait_until(lambda: receivers[1].has_data, 'its start')
    more.write_text('\n')
    end.write_text('\n')
    said(pushing)
    for receiver, calls in zip(receivers, (101000, 1000)):
        receiver.join(30)
        (tmp_path / 'events').write_bytes(receiver.bytes)
        got, lost, _ = counts(pull(tmp_path / 'events'))
        assert got + lost == calls


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    wait_until(lambda: s.connect_ex(str(path)) == 0, 'a listener')
    return s


@pytest.mark.parametrize('bytes_', [b'GET / HTTP/1.1\r\n\r\n' * 4, frame(HELLO, version=9),
                                    frame(START), frame(HELLO)[:-4] + b'\xff' * 4,
                                    frame(HELLO, b'x') + frame(HELLO, b'x'),
                                    frame(HELLO) + b''.join(frame(PING, bytes(8), n)
                                                            for n in range(1, 200))],
                         ids=['http', 'version', 'no greeting', 'checksum', 'sequence', 'pings'])
def test_garbage_is_refused(push, tmp_path, bytes_):
    where = f'unix:{tmp_path}/socket'
    pushing = push(where)
    with connect(tmp_path / 'socket') as s:
        s.sendall(bytes_)
        while s.recv(4096):  # until attar closes it
            pass
    assert counts(pull(where))[2] == {'flood': CALLS}
    assert '1 connection was refused: ' in said(pushing)


def test_a_receiver_that_leaves_in_the_middle_is_counted(push, gate, tmp_path):
    pushing = push(f'unix:{tmp_path}/socket', command=gate.command())
    with connect(tmp_path / 'socket') as s:
        s.sendall(frame(HELLO) + frame(START, sequence=1))
        assert s.recv(100).startswith(b'ATFR')
    gate.open()
    out = said(pushing)
    assert '1 receiver closed the connection before the end' in out


def test_a_receiver_that_connects_at_the_end_is_told(push, tmp_path):
    """The first receiver keeps the sender waiting for its END."""
    where = f'unix:{tmp_path}/socket'
    pushing = push(where)
    with connect(tmp_path / 'socket') as s:
        s.sendall(frame(HELLO) + frame(START, sequence=1))
        got = b''
        while not frame_is_last(got):
            got += s.recv(1 << 20)
        assert ': it has ended, and has no more events' in pull(where, status=1)
        s.sendall(frame(END, sequence=2, samples=struct.unpack_from('<Q', got, len(got) - 8)[0]))
    out = said(pushing)
    assert 'pushed to 1 receiver' in out and 'refused' not in out


def serve(path, bytes_, one_way=1):
    """Be a sender of these bytes after the greeting."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def answer():
        with listener, listener.accept()[0] as s, contextlib.suppress(ConnectionError):
            s.settimeout(30)
            s.sendall(frame(HELLO, struct.pack('<QQQ', one_way, 0, 0) + b'host'))
            for part in bytes_:
                s.sendall(part)
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread


def test_a_truncated_recording_is_reported(push, tmp_path):
    whole = tmp_path / 'events'
    said(push(str(whole)))
    kept = whole.read_bytes()
    first = 32 + struct.unpack_from('<I', kept, 8)[0]  # its HELLO
    thread = serve(tmp_path / 'socket', [kept[first:-40]])
    report = pull(f'unix:{tmp_path}/socket')
    thread.join(30)
    assert 'it ends in the middle of a frame' in ' '.join(report['remarks'])
    assert counts(report)[0] <= CALLS
    (tmp_path / 'short').write_bytes(kept[:first + 100])
    assert 'it ends in the middle of a frame' in pull(tmp_path / 'short', status=1)
    broken, at, last = bytearray(kept), 0, None
    while at < len(kept):
        last = at if kept[at + 5] == DATA else last
        at += 32 + struct.unpack_from('<I', kept, at + 8)[0]
    broken[last + 32] ^= 1
    (tmp_path / 'broken').write_bytes(broken)
    report = pull(tmp_path / 'broken')
    assert 'the checksum of a frame is wrong' in ' '.join(report['remarks'])


def test_data_before_start_is_refused(tmp_path):
    """The following data would overwrite it."""
    frames = [frame(DATA, b'PERFILE2' * 9000, 1, 1)]
    frames += [frame(PONG, bytes(1 << 18), n) for n in range(2, 10)]
    thread = serve(tmp_path / 'socket', frames, one_way=0)
    assert 'it sent data before START' in pull(f'unix:{tmp_path}/socket', status=1)
    thread.join(30)


def unknown_frames():
    number = 1
    while True:
        yield frame(99, b'', number)
        number += 1


def test_other_frames_do_not_replace_data(tmp_path):
    serve(tmp_path / 'socket', unknown_frames())
    assert 'it sends frames other than data' in pull(f'unix:{tmp_path}/socket', status=1)


def test_a_greeting_without_end_can_be_stopped(spawn, tmp_path):
    sent = []

    def frames():
        for bytes_ in unknown_frames():
            sent.append(bytes_)
            yield bytes_
    serve(tmp_path / 'socket', frames(), one_way=0)
    pulling = spawn(ATTAR, 'top', '-q', '-e', 'raw_syscalls:sys_enter', '--pull',
                    f'unix:{tmp_path}/socket', stdout=subprocess.DEVNULL)
    wait_until(lambda: len(sent) > 10000, 'frames that are read')
    pulling.send_signal(signal.SIGINT)
    pulling.wait(60)


def test_only_a_socket_is_replaced(push, tmp_path):
    """A socket without a listener is left over; other files are in use."""
    path = tmp_path / 'passwd'
    path.write_text('root')
    refused = run('record', '-e', GETPPID, '--push', f'unix:{path}', '--', 'true')
    assert refused.returncode != 0 and f"'{path}' is a file, not a socket" in refused.stderr
    assert path.read_text() == 'root'
    path.unlink()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    pushing = push(f'unix:{path}')
    assert counts(pull(f'unix:{path}'))[0] == CALLS
    said(pushing)


def test_other_machines_need_tls(push, tmp_path):
    refused = run('record', '-e', GETPPID, '--push', f'0.0.0.0:{free_port()}', '--', 'true')
    assert refused.returncode == 2
    assert 'can be reached from other machines: use TLS' in refused.stderr
    assert 'is another machine: use TLS' in pull('192.0.2.1:9', status=2)


@pytest.mark.parametrize('here, there', [('1', '2'), ('1', None), (None, '1')],
                         ids=['other', 'none', 'unexpected'])
def test_a_wrong_key_is_refused(push, tmp_path, here, there):
    """Both sides say how to set it right."""
    where = f'127.0.0.1:{free_port()}'

    def key(digit):
        write_secret(tmp_path / f'{digit}', f'{digit}' * 64)
        return ['--peer-psk', tmp_path / digit] if digit else []
    pushing = push(where, *key(here))
    refused = pull(where, *key(there), status=1)
    assert where in refused and 'give both sides the same --peer-psk file' in refused
    assert counts(pull(where, *key(here)))[0] == CALLS
    assert re.search('1 connection was refused: .*give both sides the same --peer-psk file',
                     said(pushing))


@pytest.fixture
def certificates(tmp_path):
    """
    Two certificates of one authority, one of another, one that has expired, and one for another
    address.
    """
    if not has('openssl'):
        pytest.skip('openssl is not installed')

    def openssl(*args):
        subprocess.run(['openssl', *map(str, args)], check=True, cwd=tmp_path,
                       capture_output=True, timeout=60)
    for ca in 'ca', 'other':
        openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                '-keyout', f'{ca}.key', '-out', f'{ca}.pem', '-subj', f'/CN={ca}', '-days', 2)
    for name, ca, days, names in (
            ('a', 'ca', 2, 'IP:127.0.0.1,DNS:localhost'), ('b', 'ca', 2, 'IP:127.0.0.1'),
            ('c', 'other', 2, 'IP:127.0.0.1'), ('old', 'ca', -1, 'IP:127.0.0.1'),
            ('far', 'ca', 2, 'IP:10.9.9.9,DNS:far.example')):
        (tmp_path / 'ext').write_text(f'subjectAltName={names}\n')
        openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout',
                f'{name}.key', '-out', f'{name}.csr', '-subj', f'/CN={name}')
        openssl('x509', '-req', '-in', f'{name}.csr', '-CA', f'{ca}.pem', '-CAkey', f'{ca}.key',
                '-CAcreateserial', '-out', f'{name}.pem', '-days', days, '-extfile', 'ext')
    return lambda name: ['--peer-cert', tmp_path / f'{name}.pem', '--peer-key',
                         tmp_path / f'{name}.key', '--peer-ca', tmp_path / 'ca.pem']


def test_certificates(push, certificates):
    where = f'127.0.0.1:{free_port()}'
    pushing = push(where, *certificates('a'))
    assert 'which its --peer-ca has not signed: use a --peer-cert' in pull(
        where, *certificates('c'), status=1)
    assert counts(pull(where, *certificates('b')))[0] == CALLS
    assert ('1 connection was refused: TLS failed, probably because the certificates have '
            'different authorities') in said(pushing)


def test_a_certificate_of_another_name_is_refused(push, certificates):
    where = f'127.0.0.1:{free_port()}'
    pushing = push(where, *certificates('far'))
    refused = pull(where, *certificates('b'), status=1)
    assert ('the certificate of the other side is for 10.9.9.9, far.example, not for 127.0.0.1: '
            'connect to a name of the certificate, or add 127.0.0.1 to its names' in refused)
    pushing.send_signal(signal.SIGINT)
    output = pushing.communicate(timeout=60)[0]
    assert 'the other side refused the certificate of this side' in output


def test_an_expired_certificate_is_refused(push, certificates):
    """On either side. The sender then serves a receiver with a valid one."""
    where = f'127.0.0.1:{free_port()}'
    pushing = push(where, *certificates('a'))
    assert 'the other side refused the certificate of this side, which has expired' in pull(
        where, *certificates('old'), status=1)
    assert counts(pull(where, *certificates('b')))[0] == CALLS
    assert re.search('1 connection was refused: .*expired', said(pushing))
    where = f'127.0.0.1:{free_port()}'
    pushing = push(where, *certificates('old'))
    assert 'expired' in pull(where, *certificates('b'), status=1)
    pushing.send_signal(signal.SIGINT)
    pushing.communicate(timeout=60)


class Tls:
    """One side of a connection with TLS, as Python implements it."""

    def __init__(self, connection, folder, name, is_server):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(folder / 'ca.pem')
        context.load_cert_chain(folder / f'{name}.pem', folder / f'{name}.key')
        self.connection, self.input, self.output = connection, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.input, self.output, server_side=is_server,
                                        server_hostname=None if is_server else '127.0.0.1')

    def handshake(self):
        """This side's last messages of the handshake, which are not sent yet."""
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                self.session.do_handshake()
                return self.output.read()
            if self.session.server_side and self.output.pending:
                return self.output.read()
            self.connection.sendall(self.output.read())
            self.input.write(self.connection.recv(1 << 16))

    def refusal(self, output):
        """The reason of the alert that answers an output."""
        self.connection.sendall(output)
        while got := self.connection.recv(1 << 16):
            self.input.write(got)
        with pytest.raises(ssl.SSLError) as error:
            self.session.do_handshake()
            self.session.read()
        return error.value.reason


@pytest.mark.parametrize('pushes', [True, False])
def test_a_refused_side_can_read_why(push, spawn, certificates, tmp_path, pushes):
    """The connection is not reset: the other side could fail to write before it reads the alert."""
    where = f'127.0.0.1:{free_port()}'
    options = certificates('a')
    address = ('127.0.0.1', int(where.split(':')[1]))
    more = b'\x17\x03\x03\0\x10' + bytes(16)  # a record of data, which is not read
    with contextlib.ExitStack() as stack:
        if pushes:
            push(where, *options)
            connection = stack.enter_context(socket.create_connection(address, timeout=60))
        else:
            listener = stack.enter_context(socket.create_server(address))
            listener.settimeout(60)
            spawn(ATTAR, 'top', '-q', '-e', 'raw_syscalls:sys_enter', '--pull', where,
                  *map(str, options), stderr=subprocess.DEVNULL)
            connection = stack.enter_context(listener.accept()[0])
            connection.settimeout(60)
        tls = Tls(connection, tmp_path, 'old', is_server=not pushes)
        assert tls.refusal(tls.handshake() + more) == 'SSLV3_ALERT_CERTIFICATE_EXPIRED'


def test_an_event_with_the_attribute_is_pushed_and_shown(spawn, gate, tmp_path):
    """push= of an event: the profiler sees it too, and others are not pushed."""
    where = f'unix:{tmp_path}/socket'
    events = f'raw_syscalls:sys_enter/id==110/push="{where}"/,raw_syscalls:sys_exit/id==110/'
    pushing = spawn(ATTAR, 'top', '-q', '-m', '1024', '--format', 'json', '-e', events, '--',
                    *map(str, gate.command()), stdout=subprocess.PIPE, text=True)
    receiver = Receiver(tmp_path / 'socket')
    wait_until(lambda: receiver.has_data, 'a connection')
    gate.open()
    table = json.loads(said(pushing))['sections'][0]
    names = [c['name'] for c in table['columns']]
    receiver.join(30)
    assert receiver.samples == CALLS
    (tmp_path / 'events').write_bytes(receiver.bytes)
    assert counts(pull(tmp_path / 'events')) == (CALLS, 0, {'flood': CALLS})
    row = dict(zip(names, table['rows'][0]))
    assert row['raw_syscalls:sys_exit'] == row['raw_syscalls:sys_enter'] == CALLS
