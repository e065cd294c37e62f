# SPDX-License-Identifier: MIT
"""Writes recordings in the pipe format of perf.data, of either byte order, record by record."""
import struct

MAGIC = 0x32454c4946524550 # PERFILE2
RECORD_MMAP, RECORD_LOST, RECORD_COMM, RECORD_EXIT, RECORD_FORK, RECORD_SAMPLE = 1, 2, 3, 4, 7, 9
RECORD_READ, RECORD_LOST_SAMPLES, RECORD_ATTR, RECORD_FINISHED_ROUND = 8, 13, 64, 68
RECORD_EVENT_UPDATE, UPDATE_RECORDER = 78, 0x61740002
SAMPLE_TYPE = 0x1 | 0x2 | 0x4 | 0x40 | 0x80 | 0x100 # IP, TID, TIME, ID, CPU, PERIOD
SAMPLE_READ, SAMPLE_CALLCHAIN, SAMPLE_BRANCHES = 0x10, 0x20, 0x800
FORMAT_TIMES, FORMAT_ID, FORMAT_GROUP, INHERIT_STAT = 3, 4, 8, 1 << 11
INHERIT, EXCLUDE_USER, EXCLUDE_KERNEL, FREQ, SAMPLE_ID_ALL = (
    1 << 1, 1 << 4, 1 << 5, 1 << 10, 1 << 18)
EXCLUDE_GUEST, COMM_RECORDS = 1 << 20, 1 << 9
IN_KERNEL, IN_USER = 1, 2 # misc
HARDWARE, CYCLES = 0, 0
SOFTWARE, CPU_CLOCK, TASK_CLOCK, PAGE_FAULTS, SWITCHES = 1, 0, 1, 2, 3
BRANCH_HW_INDEX = 1 << 17


class Recording:
    """Collects bytes; `<` is the order of x86-64, `>` the other one."""

    def __init__(self, order='<', events=((CPU_CLOCK, 7),)):
        self.order = order
        self.bytes = self.pack('QQ', MAGIC, 16)
        for config, number in events:
            self.attr(config, number)

    def pack(self, fields, *values):
        return struct.pack(self.order + fields, *values)

    def record(self, kind, body, misc=2):
        self.bytes += self.pack('IHH', kind, misc, 8 + len(body)) + body

    def attr(self, config, number, *, freq=0, kind=SOFTWARE, fields=SAMPLE_TYPE, branches=0,
             excluded=0, period=1, read_format=0):
        """
        freq: the samples per second, for which the kernel varies the period. period 0: none. An
        excluded of INHERIT makes an event one of each task. number: or one of each CPU.
        """
        # big-endian machines also number the bits of a bit-field from the other end
        flags = (SAMPLE_ID_ALL | excluded | (FREQ if freq else 0)).to_bytes(8, 'little')
        if self.order == '>':
            flags = bytes(int(f'{b:08b}'[::-1], 2) for b in flags)
        body = self.pack('IIQQQQ', kind, 112, config, freq or period, fields, read_format) + flags
        body += self.pack('QQQQ', 0, 0, 0, branches)
        body = body.ljust(112, b'\0')
        numbers = number if isinstance(number, tuple) else (number,)
        self.record(RECORD_ATTR, body + self.pack(f'{len(numbers)}Q', *numbers), 0)

    def recorder(self, pid):
        """Which process made the recording, as attar record writes it."""
        self.record(RECORD_EVENT_UPDATE, self.pack('QQQ', UPDATE_RECORDER, 0, pid), 0)

    def trailer(self, pid, tid, time, number, cpu):
        return self.pack('IIQQII', pid, tid, time, number, cpu, 0)

    def sample(self, time, *, pid=100, tid=100, cpu=0, number=7, ip=0x401000,
               period=1, chain=None, branches=None, hw_index=0, misc=IN_USER, counts=None):
        """
        chain: with SAMPLE_CALLCHAIN; branches: (from, to) of each, with BRANCH_HW_INDEX; counts:
        those of a group by number, with SAMPLE_READ, FORMAT_GROUP and FORMAT_ID.
        """
        body = self.pack('QIIQQIIQ', ip, pid, tid, time, number, cpu, 0, period)
        if counts is not None:
            body += self.pack('Q', len(counts))
            body += b''.join(self.pack('QQ', n, of) for of, n in counts.items())
        if chain is not None:
            body += self.pack(f'{1 + len(chain)}Q', len(chain), *chain)
        if branches is not None:
            body += self.pack('QQ', len(branches), hw_index)
            body += b''.join(self.pack('QQQ', *branch, 0) for branch in branches)
        self.record(RECORD_SAMPLE, body, misc)

    @staticmethod
    def text(value):
        """NUL-terminated and filled up to 8 bytes."""
        text = value.encode() + b'\0'
        return text.ljust(-(-len(text) // 8) * 8, b'\0')

    def read(self, time, value, running, *, pid=100, tid=100, cpu=0, number=7):
        """The count of a thread that ends, with FORMAT_TIMES and FORMAT_ID."""
        self.record(RECORD_READ, self.pack('IIQQQQ', pid, tid, value, running, running, number) +
                    self.trailer(pid, tid, time, number, cpu), 0)

    def comm(self, time, name, *, pid=100, tid=100, cpu=0, number=7):
        self.record(RECORD_COMM, self.pack('II', pid, tid) + self.text(name) +
                    self.trailer(pid, tid, time, number, cpu), 0)

    def mmap(self, time, path, address, size, offset, *, pid=100, tid=100, cpu=0, number=7):
        self.record(RECORD_MMAP, self.pack('IIQQQ', pid, tid, address, size, offset) +
                    self.text(str(path)) + self.trailer(pid, tid, time, number, cpu))

    def lost(self, time, lost, *, cpu=0, number=7):
        self.record(RECORD_LOST, self.pack('QQ', number, lost) +
                    self.trailer(100, 100, time, number, cpu), 0)

    def lost_samples(self, lost, *, number=7):
        """What an event has lost in the whole file: without a time."""
        self.record(RECORD_LOST_SAMPLES, self.pack('Q', lost) + self.trailer(0, 0, 0, number, 0), 0)

    def round(self):
        self.record(RECORD_FINISHED_ROUND, b'', 0)

    def write(self, path):
        path.write_bytes(self.bytes)
        return path
