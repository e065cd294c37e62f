# SPDX-License-Identifier: MIT
"""Batches as NumPy structured arrays, over the memory of the batch where possible."""
import functools

from ._error import Error, nearest

# enum field_form and places of python/src/native.h and attar/format.h
_UNSIGNED, _SIGNED, _FLOAT, _TEXT, _LIST, _BYTES = range(6)
_FIXED = 0
_ROW = 80  # sizeof(struct row)
_SAMPLE = [('_time', 8, '<u8'), ('_period', 16, '<u8'), ('_ip', 24, '<u8'), ('_addr', 32, '<u8'),
           ('_cpu', 40, '<i4'), ('_pid', 44, '<i4'), ('_tid', 48, '<i4'), ('_comm', 60, 'S20')]


def _number(form, size):
    return f"<{'f' if form == _FLOAT else 'i' if form == _SIGNED else 'u'}{size}"


def _column(field):
    """The NumPy type of a field; None: it is not in arrays."""
    _, _, _, size, place, form, number, signed, is_float, _ = field
    if place != _FIXED:
        return None
    if form in (_UNSIGNED, _SIGNED, _FLOAT):
        return _number(form, size)
    if form == _LIST and number:
        one = _number(_FLOAT if is_float else _SIGNED if signed else _UNSIGNED, number)
        return (one, (size // number,))
    return f'S{size}' if form == _TEXT else f'V{size}'


@functools.lru_cache(maxsize=64)
def _dtype(kind, stride, texts):
    import numpy
    columns = list(_SAMPLE)
    for field in kind.fields:
        form = _column(field)
        if form is not None and not field[9]:
            columns.append((field[0], _ROW + field[2], form))
    for number, at, width in texts:
        columns.append((kind.fields[number][0], at, f'S{width}'))
    columns = [c for c in columns if c[1] + numpy.dtype(c[2]).itemsize <= stride]
    return numpy.dtype({'names': [c[0] for c in columns], 'offsets': [c[1] for c in columns],
                        'formats': [c[2] for c in columns], 'itemsize': stride})


def _choose(batch, name):
    present = sorted(batch._present())
    kinds = batch._kinds
    if name is None:
        if len(present) > 1:
            raise Error('the batch has several kinds of events: name one of '
                        + ', '.join(kinds[i].name for i in present))
        return present[0] if present else None
    named = [i for i, kind in enumerate(kinds) if kind.name == name]
    if not named:
        raise Error(f"there is no event '{name}' in the run"
                    + nearest(name, [kind.name for kind in kinds]))
    return named[0]


def make(batch, name=None):
    """The events of this name (default: the only one) as a structured array, read-only."""
    import numpy
    number = _choose(batch, name)
    if number is None:
        return numpy.empty(0, dtype=[])
    data, stride, texts = batch._gather(number)
    return numpy.frombuffer(data, _dtype(batch._kinds[number], stride, tuple(texts)))
