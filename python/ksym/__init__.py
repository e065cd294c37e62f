# SPDX-License-Identifier: MIT
"""ksym - addresses of processes to symbols: the interface of libkperf's package ksym.

    ksym.record_module(pid)
    symbol = ksym.get_symbol(pid, address)
    print(symbol.symbolName, symbol.fileName, symbol.lineNum)
"""
import ctypes

from ._library import function, pointed, text

__all__ = ['Symbol', 'Stack', 'record_kernel', 'record_module', 'get_stack', 'get_symbol',
           'free_module', 'destroy']


class Symbol(ctypes.Structure):
    """A function at an address, as struct Symbol of symbol.h."""

    _fields_ = [('addr', ctypes.c_ulong), ('_module', ctypes.c_char_p),
                ('_symbolName', ctypes.c_char_p), ('_mangleName', ctypes.c_char_p),
                ('_fileName', ctypes.c_char_p), ('lineNum', ctypes.c_uint),
                ('offset', ctypes.c_ulong), ('codeMapEndAddr', ctypes.c_ulong),
                ('codeMapAddr', ctypes.c_ulong), ('firstLine', ctypes.c_uint),
                ('_mntPoint', ctypes.c_char_p)]
    count = 0

    module = property(lambda self: text(self._module))
    symbolName = property(lambda self: text(self._symbolName))
    mangleName = property(lambda self: text(self._mangleName))
    fileName = property(lambda self: text(self._fileName))
    mntPoint = property(lambda self: text(self._mntPoint))

    def __repr__(self):
        return f'<Symbol {self.symbolName}+0x{self.offset:x} {self.module}>'


class Stack(ctypes.Structure):
    """A function of a call stack, and the one that called it: `next`, None at the end."""

    count = 0

    symbol = property(lambda self: pointed(self._symbol))
    next = property(lambda self: pointed(self._next))
    prev = property(lambda self: pointed(self._prev))

    def __iter__(self):
        """The symbols from here to the outermost function."""
        at = self
        while at:
            yield at.symbol
            at = at.next


Stack._fields_ = [('_symbol', ctypes.POINTER(Symbol)), ('_next', ctypes.POINTER(Stack)),
                  ('_prev', ctypes.POINTER(Stack)), ('_alignment', ctypes.c_char * 40)]

_free_symbol = function('FreeSymbolPtr', None, ctypes.c_void_p)


class _OwnSymbol(ctypes._Pointer):
    """A symbol of the caller, freed with the last object that refers to it."""

    _type_ = Symbol

    def __del__(self, free=_free_symbol):
        free(self)


_record_kernel = function('SymResolverRecordKernel', ctypes.c_int)
_record_module = function('SymResolverRecordModule', ctypes.c_int, ctypes.c_int)
_record_module_no_dwarf = function('SymResolverRecordModuleNoDwarf', ctypes.c_int, ctypes.c_int)
_stack_to_hash = function('StackToHash', ctypes.POINTER(Stack), ctypes.c_int,
                          ctypes.POINTER(ctypes.c_ulong), ctypes.c_int)
_map_addr = function('SymResolverMapAddr', _OwnSymbol, ctypes.c_int, ctypes.c_ulong)
_free_module = function('FreeModuleData', None, ctypes.c_int)
_destroy = function('SymResolverDestroy', None)


def record_kernel():
    """Prepare to resolve addresses of the kernel. Returns 0, or an error code."""
    return _record_kernel()


def record_module(pid, dwarf=True):
    """Read the mappings of a process; dwarf: symbols have source lines. 0, or an error code."""
    return _record_module(pid) if dwarf else _record_module_no_dwarf(pid)


def _own_symbol(symbol):
    """A copy of a symbol, with copies of its strings."""
    own = Symbol.from_buffer_copy(symbol)
    for name in ('_module', '_symbolName', '_mangleName', '_fileName', '_mntPoint'):
        setattr(own, name, getattr(own, name))
    return own


def get_stack(pid, stacks):
    """The functions at the addresses of a call stack, innermost first: an iterator of Stack."""
    addresses = (ctypes.c_ulong * len(stacks))(*stacks)
    found = pointed(_stack_to_hash(pid, addresses, len(addresses)))
    copies = []
    for symbol in found or ():
        own = Stack()
        own._symbol = ctypes.pointer(_own_symbol(symbol))
        if copies:
            own._prev = ctypes.pointer(copies[-1])
            copies[-1]._next = ctypes.pointer(own)
        copies.append(own)
    return iter(copies)


def get_symbol(pid, addr):
    """The function at an address; None: see kperf.error()."""
    return pointed(_map_addr(pid, addr))


def free_module(pid):
    """Forget a process. What get_stack() and get_symbol() returned stays valid."""
    _free_module(pid)


def destroy():
    """Forget all processes. What get_stack() and get_symbol() returned stays valid."""
    _destroy()
