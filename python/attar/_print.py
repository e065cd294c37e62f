# SPDX-License-Identifier: MIT
"""An event as a line, with its stack below."""
import sys
from datetime import datetime


def escape(text):
    """Control characters of texts from the kernel as \\xNN."""
    return ''.join(c if c.isprintable() else f'\\x{ord(c) & 0xff:02x}' for c in text)


def print_event(event, timestamp=True, callchain=True):
    """Print time, thread, CPU, name, fields and stack to sys.stdout."""
    seconds, ns = divmod(event._realtime, 10 ** 9)
    clock = f'{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}.{ns // 1000:06d} '
    cpu = '-' if event._cpu is None else f'{event._cpu:03d}'
    lines = [f"{clock if timestamp else ''}{escape(event._comm):>15} {event._tid or '-':>7} "
             f'[{cpu}] {event._event}: {escape(event._text)}']
    if callchain:
        lines += [f'    {escape(frame.name or hex(frame.offset))} ({escape(frame.module or "")})'
                  for frame in event._stack]
    sys.stdout.write('\n'.join(lines) + '\n')
