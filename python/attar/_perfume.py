# SPDX-License-Identifier: MIT
"""Events that this program emits, by libperfume."""
import struct
from typing import Any

from . import _attar
from ._error import nearest

_NUMBERS = {'u8': 'B', 'u16': 'H', 'u32': 'I', 'u64': 'Q', 's8': 'b', 's16': 'h', 's32': 'i',
            's64': 'q', 'f32': 'f', 'f64': 'd', 'bool': '?'}
_FLOATS = {'f32': 4, 'f64': 8}
_TEXTS = {'str': 'char', 'bytes': 'u8'}


_COMMON = ('common_type', 'common_flags', 'common_preempt_count', 'common_pid')


def _check(name, fields):
    if not isinstance(name, str):
        raise TypeError(f'Event(): the name must be str, not {name!r}')
    for field, kind in fields.items():
        if kind not in _NUMBERS and kind not in _TEXTS:
            raise TypeError(f"Event(): {field} has no type '{kind}'"
                            f"{nearest(str(kind), [*_NUMBERS, *_TEXTS])}")
        if field in _COMMON:
            raise ValueError(f'Event(): {field} is a field of each event already: rename it')


def _field(name, kind):
    """The field as the kernel declares it."""
    if kind in _FLOATS:
        return f'struct {kind} {name} {_FLOATS[kind]}'
    if kind in _TEXTS:
        return f'__rel_loc {_TEXTS[kind]}[] {name}'
    return f"{'u8' if kind == 'bool' else kind} {name}"


class Event:
    """An event of this program, which attar, perf, ftrace and bpftrace can record.

        order_placed = attar.Event('order_placed', id='u64', price='f64', symbol='str')
        order_placed(id=17, price=99.5, symbol='ACME')

    Types: u8 to u64, s8 to s64, f32, f64, bool, str and bytes. A call without a listener only
    tests a flag. It returns whether the event was emitted.
    """

    def __init__(self, name: str, /, **fields: str) -> None:
        _check(name, fields)
        self.name, self.fields = name, dict(fields)
        self._format = struct.Struct('<' + ''.join(_NUMBERS.get(k, 'I') for k in fields.values()))
        self._texts = [(i, list(fields)[i], kind) for i, kind in enumerate(fields.values())
                       if kind in _TEXTS]
        self._ends = self._offsets_behind()
        self._probe = _attar.Probe(
            name.encode(), [_field(*one).encode() for one in fields.items()])

    def _offsets_behind(self):
        """The offset after each field, which relative positions count from."""
        kinds, ends = list(self.fields.values()), []
        for i in range(len(kinds)):
            ends.append(struct.calcsize(
                '<' + ''.join(_NUMBERS.get(k, 'I') for k in kinds[:i + 1])))
        return ends

    @property
    def enabled(self) -> bool:
        """Whether there is a listener. It may be polled: no system call is needed."""
        return self._probe.enabled

    def __call__(self, *values: Any, **named: Any) -> bool:
        if not self._probe.enabled:
            return False
        if named or len(values) != len(self.fields):
            values = self._arrange(values, named)
        return self._probe.write(self._pack(list(values)))

    def _arrange(self, values, named):
        """Values by position, then by name, in the order of the fields."""
        given = dict(zip(self.fields, values))
        for name, value in named.items():
            if name not in self.fields:
                raise TypeError(f"{self.name} has no field '{name}'{nearest(name, self.fields)}")
            if name in given:
                raise TypeError(f"{self.name}: '{name}' is given twice")
            given[name] = value
        missing = [name for name in self.fields if name not in given]
        if missing or len(values) > len(self.fields):
            raise TypeError(f'{self.name} has the fields {", ".join(self.fields)}'
                            + (f': {missing[0]} is missing' if missing else ''))
        return [given[name] for name in self.fields]

    def _pack(self, values):
        tail, at = b'', self._format.size
        for i, name, kind in self._texts:
            data = self._bytes(name, kind, values[i])
            values[i] = len(data) << 16 | (at + len(tail) - self._ends[i])
            tail += data
        try:
            return self._format.pack(*values) + tail
        except struct.error as error:
            raise TypeError(f'{self.name}: {self._wrong_value(values) or error}') from None

    def _wrong_value(self, values):
        """What is wrong with the first value that its field cannot have."""
        for (name, kind), value in zip(self.fields.items(), values):
            try:
                struct.pack('<' + _NUMBERS.get(kind, 'I'), value)
            except struct.error:
                return f'{name} must be {kind}, not {value!r}'
        return ''

    def _bytes(self, name, kind, value):
        if kind == 'str' and isinstance(value, str):
            if '\0' in value:
                raise ValueError(f'{self.name}: {name} has a null character, where a str ends: '
                                 'use a field of the type bytes')
            data = value.encode('utf-8', 'surrogateescape') + b'\0'
        elif kind == 'bytes' and isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
        else:
            raise TypeError(f'{self.name}: {name} must be {kind}, not {value!r}')
        if len(data) > 0xffff:
            raise TypeError(f'{self.name}: {name} has {len(data)} bytes; at most 65535 fit')
        return data

    def close(self) -> None:
        """Remove the event."""
        self._probe.close()

    def __enter__(self) -> 'Event':
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self):
        return f"<attar.Event '{self.name}' {self.fields}>"
