# SPDX-License-Identifier: MIT
"""Senders that --pull has accepted, but whose events or time do not go on."""
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from command import ATTAR, run
from test_push import DATA, HELLO, PING, PONG, START, frame

TIME = 8


def frames_of(bytes_):
    """Yields the type, payload and number of samples of each frame."""
    at = 0
    while at < len(bytes_):
        size, = struct.unpack_from('<I', bytes_, at + 8)
        yield bytes_[at + 5], bytes_[at + 32:at + 32 + size], struct.unpack_from(
            '<Q', bytes_, at + 24)[0]
        at += 32 + size


class Sender:
    """Answers as attar does until START, then does what the function does."""

    def __init__(self, path, act):
        self.sequence, self.act = 0, act
        self.asked, self.over = threading.Event(), threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def send(self, kind, payload=b'', samples=0):
        self.connection.sendall(frame(kind, payload, self.sequence, samples))
        self.sequence += 1

    def serve(self):
        self.connection = self.listener.accept()[0]
        with self.connection.makefile('rb') as file:
            while not self.asked.is_set():
                head = file.read(32)
                payload = file.read(struct.unpack_from('<I', head, 8)[0])
                if head[5] == HELLO:
                    self.send(HELLO, struct.pack('<QQQ', 2, time.monotonic_ns(), time.time_ns()))
                elif head[5] == PING:
                    self.send(PONG, payload + struct.pack('<Q', time.monotonic_ns()))
                elif head[5] == START:
                    self.asked.set()
        try:
            self.act(self)
            self.over.wait(100)
        except OSError:
            pass
        self.connection.close()


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp('pushed') / 'frames'
    run('top', '-a', '-q', '-e', 'context-switches', '-d', '50ms', '--push', path)
    return [(payload, samples) for kind, payload, samples in frames_of(path.read_bytes())
            if kind == DATA]


@pytest.fixture
def pull(tmp_path):
    senders = []

    def start(act):
        path = tmp_path / f'socket{len(senders)}'
        senders.append(Sender(path, act))
        return senders[-1], subprocess.Popen(
            [ATTAR, 'top', '-e', 'context-switches', '-d', '2s', '--pull', f'unix:{path}'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield start
    for sender in senders:
        sender.over.set()


def test_the_run_ends_although_the_sender_does_not_go_on(pull, recorded):
    def send_all(sender):
        for payload, samples in recorded:
            sender.send(DATA, payload, samples)

    def stand_still(sender):
        send_all(sender)
        while True:
            sender.send(TIME, struct.pack('<Q', 5))
            time.sleep(.05)

    def repeat(sender):
        send_all(sender)
        payload, samples = recorded[-1]
        while True:
            samples += 1
            sender.send(DATA, payload, samples)
    begin = time.monotonic()
    pulls = [(act, pull(act)[1]) for act in (send_all, stand_still, repeat)]
    for act, process in pulls:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert act == repeat or 'the time of its events does not go on' in out
    assert time.monotonic() - begin < 30


def test_a_sender_that_begins_late(pull):
    process = pull(lambda sender: None)[1]
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert 'it has not sent the begin of its events in time' in err


def test_waiting_for_the_first_events_can_be_stopped(pull):
    sender, process = pull(lambda sender: None)
    assert sender.asked.wait(30)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - begin < 5
    assert 'stopped while waiting for' in err
