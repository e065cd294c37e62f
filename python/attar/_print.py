# SPDX-License-Identifier: MIT
"""An event as a line, with its stack below."""
import sys
from datetime import datetime


def escape(text):
    """Control characters of texts from the kernel as \\xNN."""
    return ''.join(c if c.isprintable() else f'\\x{ord(c) & 0xff:02x}' for c in text)


def text_of(event):
    """The fields as the kernel prints them; members of the sample for an event without any."""
    if event._text or 'ip' not in event:
        return escape(event._text)
    text = [f'addr={event.addr:#x}'] if 'addr' in event else []
    text.append(f'ip={event.ip:#x}')
    if event.get('period', 1) != 1:
        text.append(f'period={event.period}')
    return ' '.join(text)


def print_event(event, timestamp=True, callchain=True):
    """Print time, thread, CPU, name, fields and stack to sys.stdout."""
    seconds, ns = divmod(event._realtime, 10 ** 9)
    clock = f'{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}.{ns // 1000:06d} '
    cpu = '-' if event._cpu is None else f'{event._cpu:03d}'
    lines = [f"{clock if timestamp else ''}{escape(event._comm):>15} {event._tid or '-':>7} "
             f'[{cpu}] {event._event}: {text_of(event)}']
    if callchain:
        lines += [f"    {call['addr']:016x} {escape(call['symbol'])}+{call['offset']:#x} "
                  f"({escape(call['dso'])})" for call in event._callchain]
    sys.stdout.write('\n'.join(lines) + '\n')
