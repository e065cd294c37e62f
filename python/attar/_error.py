# SPDX-License-Identifier: MIT
"""Exceptions, and their suggestions."""
import difflib
import functools
import inspect
from typing import Any, Callable, TypeVar, cast


class Error(Exception):
    """A failure that libattar reports: str() says what failed, why, and how to fix it.

    text    the sentence, without the lines that follow it
    detail  the following lines, such as the event string with a caret; '' for none
    reason  the sentence without the fix: what failed, and why
    fix     how to fix it, such as 'use -o FILE.db'; '' if the sentence does not say it
    errno   the positive number of errno.h
    """

    def __init__(self, message, errno=0, reason='', fix=''):
        super().__init__(message)
        self.text, _, self.detail = message.partition('\n')
        self.reason = reason if fix else self.text
        self.fix = fix
        self.errno = abs(errno)

    def __reduce__(self):
        return type(self), (self.args[0], self.errno, self.reason, self.fix)


def nearest(word, names):
    """Return ": did you mean '...'?" or ''."""
    near = difflib.get_close_matches(word, list(names), 1, 0.6)
    return f": did you mean '{near[0]}'?" if near else ''


F = TypeVar('F', bound=Callable[..., Any])


def checks_keywords(name: str) -> Callable[[F], F]:
    """Decorate a function: unknown keywords are refused as those of profilers are."""
    def decorate(function: F) -> F:
        known = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*operands: Any, **options: Any) -> Any:
            for key in options:
                if key not in known:
                    raise TypeError(f"{name}() has no option '{key}'{nearest(key, known)}")
            return function(*operands, **options)
        return cast(F, call)
    return decorate


def no_field(event, fields, name):
    """Raise the error for a missing attribute of an event."""
    hint = nearest(name, fields) or (
        f": its fields are {', '.join(f for f in fields if not f.startswith('common_'))}"
        if fields else ': it has none; those of the sample begin with _, such as _time')
    raise AttributeError(f"{event} has no field '{name}'{hint}")
