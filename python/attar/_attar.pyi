# SPDX-License-Identifier: MIT
"""The C part of the package: what users see of it."""
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

class Frame(NamedTuple):
    name: Optional[str]
    offset: int
    module: Optional[str]

class TraceEvent:
    _name: str
    _time: int
    _realtime: int
    _period: int
    _ip: int
    _addr: int
    _cpu: Optional[int]
    _pid: Optional[int]
    _tid: Optional[int]
    _comm: str
    _stack: list[Frame]
    _callchain: list[Frame]
    _text: str
    _raw: bytes
    _fields: Any
    def _asdict(self) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def print(self) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...

class Batch:
    def array(self, name: Optional[str] = ...) -> Any: ...
    def __iter__(self) -> Iterator[TraceEvent]: ...
    def __len__(self) -> int: ...

def __getattr__(name: str) -> Any: ...
