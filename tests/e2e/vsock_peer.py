# SPDX-License-Identifier: MIT
"""
Connect to a port of vsock on this machine, as a program of a virtual machine with a CID, or of this
machine with CID 1: print the end of the connection. Without an emulator: a virtual machine is a
process that has opened /dev/vhost-vsock, and has two rings in its memory.

usage: vsock_peer CID PORT [TEXT]
"""
import ctypes
import fcntl
import mmap
import os
import select
import socket
import struct
import sys
import time

HOST, LOCAL = 2, 1
TO_GUEST, TO_HOST = 0, 1  # the rings
# include/uapi/linux/vhost.h
SET_FEATURES, SET_OWNER, SET_MEM_TABLE, SET_CID, SET_RUNNING = (
    0x4008af00, 0xaf01, 0x4008af03, 0x4008af60, 0x4004af61)
SET_NUM, SET_ADDR, SET_BASE, SET_KICK, SET_CALL = (
    0x4008af10, 0x4028af11, 0x4008af12, 0x4008af20, 0x4008af21)
VERSION_1 = 1 << 32
# include/uapi/linux/virtio_vsock.h
HEADER = struct.Struct('<QQIIIHHIII')
STREAM = 1
REQUEST, RESPONSE, RST, SHUTDOWN, RW = range(1, 6)
ENTRIES, SIZE = 16, 4096  # of a ring, and of a buffer
RING = 3 * SIZE + ENTRIES * SIZE
WAIT_S = 60


class Ring:
    """A split virtqueue: descriptors, available and used entries, a page each, then buffers."""

    def __init__(self, vhost, memory, base, index):
        self.memory, self.at, self.index, self.made, self.seen = memory, index * RING, index, 0, 0
        address = base + self.at
        self.kick, self.call = os.eventfd(0), os.eventfd(0)
        for request, value in ((SET_NUM, ENTRIES), (SET_BASE, 0), (SET_KICK, self.kick),
                               (SET_CALL, self.call)):
            fcntl.ioctl(vhost, request, struct.pack('<II', index, value))
        fcntl.ioctl(vhost, SET_ADDR, struct.pack('<IIQQQQ', index, 0, address, address + 2 * SIZE,
                                                 address + SIZE, 0))

    def buffer(self, n):
        return self.at + (3 + n) * SIZE

    def give(self, data=None):
        """Give a buffer: with data, or to be filled."""
        n = self.made % ENTRIES
        if data is not None:
            self.memory[self.buffer(n):self.buffer(n) + len(data)] = data
        struct.pack_into('<QIHH', self.memory, self.at + 16 * n, self.buffer(n),
                         SIZE if data is None else len(data), 2 if data is None else 0, 0)
        struct.pack_into('<H', self.memory, self.at + SIZE + 4 + 2 * n, n)
        self.made += 1
        struct.pack_into('<H', self.memory, self.at + SIZE + 2, self.made & 0xffff)
        os.eventfd_write(self.kick, 1)

    def take(self, deadline):
        """Return the bytes of the next buffer that was filled; empty after the deadline."""
        used = self.at + 2 * SIZE
        while struct.unpack_from('<H', self.memory, used + 2)[0] == self.seen & 0xffff:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.call], [], [], left)[0]:
                return b''
            os.eventfd_read(self.call)
        n, length = struct.unpack_from('<II', self.memory, used + 4 + 8 * (self.seen % ENTRIES))
        self.seen += 1
        return self.memory[self.buffer(n):self.buffer(n) + length]


class Machine:
    """A virtual machine with this CID, whose program is a connection to a port of the host."""

    def __init__(self, cid, port):
        self.cid, self.port = cid, port
        vhost = os.open('/dev/vhost-vsock', os.O_RDWR)
        memory = mmap.mmap(-1, 2 * RING)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        fcntl.ioctl(vhost, SET_OWNER)
        fcntl.ioctl(vhost, SET_FEATURES, struct.pack('<Q', VERSION_1))
        fcntl.ioctl(vhost, SET_MEM_TABLE, struct.pack('<IIQQQQ', 1, 0, 0, len(memory), base, 0))
        self.received, self.sent = (Ring(vhost, memory, base, index)
                                    for index in (TO_GUEST, TO_HOST))
        fcntl.ioctl(vhost, SET_CID, struct.pack('<Q', cid))
        fcntl.ioctl(vhost, SET_RUNNING, struct.pack('<i', 1))
        for _ in range(ENTRIES):
            self.received.give()
        self.vhost = vhost

    def send(self, operation, own_port, data=b''):
        self.sent.give(HEADER.pack(self.cid, HOST, own_port, self.port, len(data), STREAM,
                                   operation, 0, 1 << 16, 0) + data)

    def next(self, deadline):
        """Return the operation of the next packet, or None."""
        packet = self.received.take(deadline)
        self.received.give()
        return HEADER.unpack_from(packet)[6] if packet else None

    def run(self, data):
        """Return how the connection ended."""
        deadline, port = time.monotonic() + WAIT_S, 1024
        while True:  # until there is a listener
            self.send(REQUEST, port)
            answer = self.next(deadline)
            if answer != RST:
                break
            port += 1
            time.sleep(0.05)
        if answer != RESPONSE:
            return f'no answer: {answer}'
        if data:
            self.send(RW, port, data)
        while (answer := self.next(deadline)) not in (SHUTDOWN, RST, None):
            pass
        return 'closed' if answer else 'open'


def connect(port, data):
    """The same from this machine."""
    deadline = time.monotonic() + WAIT_S
    while True:
        with socket.socket(socket.AF_VSOCK) as s:
            s.settimeout(WAIT_S)
            try:
                s.connect((LOCAL, port))
                s.sendall(data)
                while s.recv(4096):
                    pass
                return 'closed'
            except ConnectionResetError:
                if time.monotonic() > deadline:
                    return 'no answer'
                time.sleep(0.05)


def main():
    cid, port, *text = sys.argv[1:]
    data = ' '.join(text).encode()
    print(connect(int(port), data) if int(cid) == LOCAL else Machine(int(cid), int(port)).run(data))


if __name__ == '__main__':
    main()
