# SPDX-License-Identifier: MIT
"""Run attar with fault injection; the first comment of each library in tests/faults describes it.
"""
import functools
import json
import os

import pytest

from command import BUILD, run


@functools.cache
def sanitized():
    """Sanitizers interpose the same functions as the libraries and must be loaded first."""
    program = (BUILD / 'src/cli/attar').read_bytes()
    return b'__asan_init' in program or b'__ubsan_handle' in program


def environment(library, **fault):
    """The environment in which attar has the library preloaded; `fault` sets its variables."""
    if sanitized():
        pytest.skip('fault injection by LD_PRELOAD does not work with sanitizers')
    path = BUILD / f'tests/faults/fault_{library}.so'
    assert path.exists(), f'{path} is not built'
    variables = {f'FAULT_{name.upper()}': str(value) for name, value in fault.items()}
    return {**os.environ, 'LD_PRELOAD': str(path), **variables}


def with_fault(library, *args, timeout=30, preexec_fn=None, **fault):
    """Run attar with the library preloaded; `fault` sets its FAULT_... variables."""
    return run(*args, timeout=timeout, preexec_fn=preexec_fn, env=environment(library, **fault))


def messages_of(done):
    """Return the lines that attar itself wrote to stderr."""
    return [line for line in done.stderr.splitlines() if line.startswith('attar: ')]


def counted(text, event):
    """Return the value of an event in the JSON output of attar stat."""
    section = json.loads(text)['sections'][0]
    names = [column['name'] for column in section['columns']]
    return next(row[names.index('value')] for row in section['rows']
                if row[names.index('event')] == event)
