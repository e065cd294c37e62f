# SPDX-License-Identifier: MIT
"""Recordings in the pipe format of perf.data, from which samples are removed."""
import random
import struct

RECORD_COMM, RECORD_SAMPLE, RECORD_ATTR, RECORD_TRACING_DATA = 3, 9, 64, 66
TRACEPOINT = 2
SWITCH_CPU_WIDE = 15


class Pipe:
    """The records of a recording in the pipe format of perf.data."""

    def __init__(self, text):
        self.head, self.records, at = text[:16], [], 16
        while at < len(text):
            kind, _, size = struct.unpack_from('=IHH', text, at)
            if kind == RECORD_TRACING_DATA:
                size += -(-struct.unpack_from('=I', text, at + 8)[0] // 8) * 8
            self.records.append((kind, text[at:at + size]))
            at += size

    def numbers_of_tracepoints(self):
        for kind, text in self.records:
            if kind == RECORD_ATTR:
                attr_type, attr_size = struct.unpack_from('=II', text, 8)
                if attr_type == TRACEPOINT:
                    yield from struct.unpack(f'={(len(text) - 8 - attr_size) // 8}Q',
                                             text[8 + attr_size:])

    def numbers_of_switches(self):
        """The ids of the first tracepoint."""
        first = None
        for kind, text in self.records:
            if kind == RECORD_ATTR:
                attr_type, attr_size, config = struct.unpack_from('=IIQ', text, 8)
                first = config if first is None and attr_type == TRACEPOINT else first
                if attr_type == TRACEPOINT and config == first:
                    yield from struct.unpack(f'={(len(text) - 8 - attr_size) // 8}Q',
                                             text[8 + attr_size:])

    def switches(self):
        """The records of switches to and from the program."""
        tid, = {struct.unpack_from('=I', text, 12)[0] for kind, text in self.records
                if kind == RECORD_COMM and text[16:].startswith(b'sleeps\0')}
        return sum(kind == SWITCH_CPU_WIDE and struct.unpack_from('=I', text, 20)[0] == tid
                   for kind, text in self.records)

    def without(self, share, seed):
        """Drops a share of the samples of switches, whose first field is the id."""
        return self.without_samples(set(self.numbers_of_switches()), share, seed)

    def without_any(self, share, seed):
        """Drops a share of the samples of all tracepoints."""
        return self.without_samples(set(self.numbers_of_tracepoints()), share, seed)

    def without_samples(self, numbers, share, seed):
        rng = random.Random(seed)
        assert numbers
        return self.head + b''.join(
            text for kind, text in self.records
            if kind != RECORD_SAMPLE or struct.unpack_from('=Q', text, 8)[0] not in numbers
            or rng.random() >= share)
