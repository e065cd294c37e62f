# SPDX-License-Identifier: MIT
"""Random samples of Arm SPE: attar decodes the same bytes as perf does."""
import random
import re
import struct
import subprocess

import pytest

from command import BUILD, has
from perf_data import Recording

SAMPLES = 300
AUXTRACE_INFO, AUXTRACE, ARM_SPE = 70, 71, 4
EVENTS = {'EXCEPTION-GEN': 0, 'RETIRED': 1, 'L1D-ACCESS': 2, 'L1D-REFILL': 3, 'TLB-ACCESS': 4,
          'TLB-REFILL': 5, 'NOT-TAKEN': 6, 'MISPRED': 7, 'LLC-ACCESS': 8, 'LLC-REFILL': 9,
          'REMOTE-ACCESS': 10, 'ALIGNMENT': 11, 'SVE-PARTIAL-PRED': 17, 'SVE-EMPTY-PRED': 18}
ACCESS = {'LD': 1, 'ST': 2, 'AT': 4, 'EXCL': 8, 'AR': 16}
COUNTERS = {'TOT': 'latency', 'ISSUE': 'issue', 'XLAT': 'translation'}
FIELDS = ('pc', 'level', 'target', 'va', 'pa', 'context', 'class', 'access', 'events', 'latency',
          'issue', 'translation', 'source', 'time')


def packets(rng):
    """A sample: its first and last packet, and some of the others in random order."""
    events = sum(1 << bit for bit in EVENTS.values() if rng.random() < 0.4)
    some = [struct.pack('<BI', 0x64 | rng.randrange(2), rng.getrandbits(32)),
            struct.pack('<BB', 0x4a, rng.randrange(4)) if rng.random() < 0.3 else
            struct.pack('<BB', 0x49, rng.choice([0, 1, 2, 3, 4, 0x10, 0x1e, 0x1f, 0x06, 0x0b])),
            struct.pack('<BI', 0x62, events),
            struct.pack('<BH', 0x98, rng.getrandbits(16)),
            struct.pack('<BH', 0x99, rng.getrandbits(12)),
            struct.pack('<BH', 0x9a, rng.getrandbits(12)),
            struct.pack('<BBH', 0x20, 0x9a, rng.getrandbits(12)),  # with an extended header
            struct.pack('<BQ', 0xb1, rng.getrandbits(64)),
            struct.pack('<BQ', 0xb2, rng.getrandbits(64)),
            struct.pack('<BQ', 0xb3, rng.getrandbits(64)),
            struct.pack('<BB', 0x43, rng.getrandbits(8))]
    some = rng.sample(some, rng.randrange(1, len(some)))
    end = b'\x01' if rng.random() < 0.3 else struct.pack('<BQ', 0x71, rng.getrandbits(63))
    return struct.pack('<BQ', 0xb0, rng.getrandbits(64)) + b''.join(some) + end + \
        bytes(rng.randrange(4))


def address(number):
    """The low 56 bits with the sign of bit 55, as an unsigned number."""
    number &= (1 << 56) - 1
    return number | 0xff << 56 if number >> 55 else number


def add(sample, text):
    """Add perf's description of a packet."""
    kind, *words = text.split()
    if kind == 'PC':
        sample.update(pc=address(int(words[0], 16)), level=int(words[1][2:]))
    elif kind in ('TGT', 'VA'):
        sample['target' if kind == 'TGT' else 'va'] = address(int(words[0], 16))
    elif kind == 'PA':
        sample['pa'] = int(words[0], 16)
    elif kind == 'CONTEXT':
        sample['context'] = int(words[0], 16)
    elif kind == 'LAT':
        sample[COUNTERS[words[1]]] = int(words[0])
    elif kind == 'EV':
        sample['events'] = sum(1 << EVENTS[word] for word in words)
    elif kind == 'DATA-SOURCE':
        sample['source'] = int(words[0])
    elif kind in ('LD', 'ST'):
        sample.update({'class': 1,
                       'access': sum(ACCESS.get(word, 0) for word in (kind, *words))})
    elif kind == 'B':
        sample['class'] = 2
    elif kind == 'TS':
        sample['time'] = int(words[0])
    else:
        assert kind in ('PAD', 'END'), text


def samples_of_perf(data):
    recording = Recording()
    recording.record(AUXTRACE_INFO, struct.pack('<IIQQ', ARM_SPE, 0, 9, 0), 0)
    recording.record(AUXTRACE, struct.pack('<QQQIiII', len(data), 0, 0, 0, -1, 0, 0), 0)
    out = subprocess.run(['perf', 'script', '-D', '-i', '-'], input=recording.bytes + data,
                         capture_output=True, check=False).stdout.decode()
    if 'ARM SPE data' not in out:
        pytest.skip('this perf does not decode Arm SPE')
    samples, sample = [], dict.fromkeys(FIELDS, 0)
    for text in re.findall(r'^\.  [0-9a-f]{8}:  (?:[0-9a-f]{2} )+ +(.*)$',
                           out[out.index('ARM SPE data'):], re.M):
        add(sample, text)
        if text.split()[0] in ('TS', 'END'):
            samples.append(sample)
            sample = dict.fromkeys(FIELDS, 0)
    return samples


def test_samples_are_those_of_perf():
    if not has('perf'):
        pytest.skip('perf (package linux-perf) is not installed')
    rng = random.Random(1)
    data = b''.join(packets(rng) for _ in range(SAMPLES))
    data += bytes(-len(data) % 8)
    done = subprocess.run([BUILD / 'tests/e2e/spe_dump'], input=data, capture_output=True,
                          check=True)
    ours = [{name: int(value) for name, value in
             (field.split('=') for field in line.split())}
            for line in done.stdout.decode().splitlines()]
    assert len(ours) == SAMPLES
    assert ours == samples_of_perf(data)
