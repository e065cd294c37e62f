# SPDX-License-Identifier: MIT
"""Recordings (perf.data) as a source of events and for profilers."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Union

from . import profilers
from ._attar import TraceEvent
from ._error import checks_keywords
from ._run import Events, events


class Recording(profilers.OnRecordings):
    """A recording: its events, and every profiler that reads recordings, by name.

        recording = attar.open('x.data')
        for event in recording.events('sched:sched_switch'): ...
        print(recording.profile(stacks=True).report())
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        with open(self.path, 'rb'):  # the usual exceptions if it cannot be read
            pass

    def events(self, *names: str, **options: Any) -> Events:
        """Events of the recording, of these names or all."""
        return events(*names, input=self.path, **options)

    def __iter__(self) -> Iterator[TraceEvent]:
        return iter(self.events())

    def __repr__(self):
        return f'<attar.Recording {self.path!r}>'


@checks_keywords('open')
def open_recording(path: Union[str, os.PathLike[str]]) -> Recording:
    """Open a recording that 'attar record' or 'perf record' wrote."""
    return Recording(path)
