# SPDX-License-Identifier: MIT
"""Options of profilers as keyword arguments: names, types, and their text for libattar."""
import datetime
import functools
import keyword
import os

from . import _attar
from ._error import Error, nearest


class Option:
    """An option as its profiler's descriptor has it."""

    def __init__(self, heading, name, kind, value, about, implied):
        self.heading, self.name, self.kind, self.value = heading, name, kind, value
        self.about, self.implied = about, implied
        self.keyword = keyword_of(name)


def keyword_of(name):
    """Return the keyword argument of an option or the function of a profiler."""
    word = name.replace('-', '_').replace(':', '_')
    return word + '_' if keyword.iskeyword(word) else word


@functools.lru_cache(maxsize=None)
def of_profiler(name):
    """Return the options of a profiler (None: of events()) by keyword, without old names."""
    every = [Option(*one) for one in _attar.options(name.encode() if name else None)]
    return {one.keyword: one for one in every if one.about is not None}


# ---- values ----

def _flag(value):
    if not isinstance(value, bool):
        raise TypeError('True or False')
    return value


def _number(value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError('an integer of 0 or more')
    return str(value)


def _time(value):
    """Seconds, a timedelta, or text with a unit, as nanoseconds."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        raise TypeError("seconds, a timedelta, or text with a unit such as '500ms'")
    return f'{round(value * 1e9)}ns'


def _size(value):
    if isinstance(value, str):
        return value
    try:
        return _number(value)
    except TypeError:
        raise TypeError("bytes, or text with a unit such as '16M'") from None


def _percent(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError('a number')
    return repr(value)


def _text(value):
    if isinstance(value, bool):
        raise TypeError('text')
    if isinstance(value, (int, float)):
        return str(value)
    try:
        return os.fspath(value)
    except TypeError:
        raise TypeError('text') from None


def _texts(value):
    """One text, or several."""
    if isinstance(value, (str, bytes, os.PathLike, int, float)):
        return [_text(value)]
    try:
        return [_text(one) for one in value]
    except TypeError:
        raise TypeError('text, or a list of texts') from None


_SINGLE = {'count': _number, 'time': _time, 'size': _size, 'percent': _percent, 'text': _text}


def _words(option, value):
    """Return [(name, text or None)] for attar_run_set()."""
    if value is None:
        return []
    if option.kind == 'flag':
        return [(option.name, None)] if _flag(value) else []
    if option.kind == 'switch':
        return [(option.name if _flag(value) else f'no-{option.name}', None)]
    if option.kind in ('list', 'joined'):
        return [(option.name, text) for text in _texts(value)]
    if value is True and option.implied is not None:
        return [(option.name, option.implied)]
    return [(option.name, _SINGLE[option.kind](value))]


def to_words(function, options, given):
    """Check keyword arguments; return [(name, text or None)]."""
    words = []
    for key, value in given.items():
        if key not in options:
            raise TypeError(f"{function}() has no option '{key}'{nearest(key, options)}")
        try:
            words += _words(options[key], value)
        except TypeError as error:
            raise TypeError(f"{function}(): {key} must be {error}, not {value!r}") from None
    return words


def apply(run, words):
    """Set the options; errors name the keyword argument, not the option of the command line."""
    for name, value in words:
        try:
            run.set(os.fsencode(name), None if value is None else os.fsencode(value))
        except Error as error:
            option, key = f'--{name}: ', f'{keyword_of(name)}: '
            if not str(error).startswith(option):
                raise
            reason = key + error.reason[len(option):]
            raise Error(key + str(error)[len(option):], error.errno, reason, error.fix) from None


def to_command(command):
    """argv of a program, from a list or one word."""
    if isinstance(command, (str, bytes, os.PathLike)):
        command = [command]
    words = [os.fsencode(word) for word in command]
    if not words:
        raise TypeError('command is an empty list: name a program')
    return words
