# SPDX-License-Identifier: MIT
"""Runs attar with faults put in by the libraries of tests/faults, each of which says in its first comment what it does."""
import json
import os

import pytest

from command import BUILD, run


def sanitized():
    """A sanitizer replaces the functions that the libraries replace, and must be the first to be loaded."""
    return b'__asan_init' in (BUILD / 'src/cli/attar').read_bytes() or \
        b'__ubsan_handle' in (BUILD / 'src/cli/attar').read_bytes()


def with_fault(library, *args, timeout=30, **fault):
    """attar with these arguments and, for itself alone, the library and what tells it the fault (FAULT_...)."""
    if sanitized():
        pytest.skip('faults are put in by LD_PRELOAD, which does not go with a sanitizer')
    path = BUILD / f'tests/faults/fault_{library}.so'
    assert path.exists(), f'{path} is not built'
    told = {f'FAULT_{name.upper()}': str(value) for name, value in fault.items()}
    return run(*args, timeout=timeout, env={**os.environ, 'LD_PRELOAD': str(path), **told})


def said(done):
    """The lines of stderr that are attar's."""
    return [line for line in done.stderr.splitlines() if line.startswith('attar: ')]


def counted(text, event):
    """The value of an event in the JSON of attar stat."""
    section = json.loads(text)['sections'][0]
    names = [column['name'] for column in section['columns']]
    return next(row[names.index('value')] for row in section['rows'] if row[names.index('event')] == event)
