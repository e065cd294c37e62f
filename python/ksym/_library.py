# SPDX-License-Identifier: MIT
"""Loads libkperf.so, which is libsym.so too, for the packages kperf and ksym."""
import ctypes
import os

try:
    from ._config import LIBDIR
except ImportError:  # not installed
    LIBDIR = ''


def _load():
    """The library that was installed with this, otherwise the one that the linker finds."""
    installed = os.path.join(LIBDIR, 'libkperf.so')
    try:
        return ctypes.CDLL(installed if os.path.exists(installed) else 'libkperf.so')
    except OSError as error:
        raise ImportError(f'{error}: install attar, run ldconfig, or add the folder of libkperf.so '
                          'to LD_LIBRARY_PATH') from None


LIBRARY = _load()


def function(name, result, *arguments):
    """A function of the library. It is called without the GIL."""
    found = getattr(LIBRARY, name)
    found.restype = result
    found.argtypes = arguments
    return found


def text(value):
    """A C string as str; NULL is the empty one."""
    return value.decode('utf-8', 'replace') if value else ''


def pointed(pointer):
    """What a pointer refers to; None for NULL. It keeps the memory of the pointer alive."""
    return pointer.contents if pointer else None
