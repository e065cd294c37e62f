# SPDX-License-Identifier: MIT
"""attar python: calls the functions of a script for each event.

    attar python [OPTIONS] [--] SCRIPT [ARGUMENTS] [-- COMMAND]
    attar python [OPTIONS] help
"""
import importlib
import importlib.util
import itertools
import os
import re
import signal
import sys
import traceback
from pathlib import Path

from . import _attar, _options
from ._error import Error, nearest
from ._run import Events

OK, FAILED, USAGE = 0, 1, 2

HELP = '''attar python - call the functions of a Python script for each event

usage: attar python [OPTIONS] [--] SCRIPT [ARGUMENTS] [-- COMMAND]
       attar python -e EVENT help      print a script with all fields of the events

Functions of the script, all optional:
  sys__event(event)       for each event sys:event; other characters of a name become _
  __sample__(event)       for each event without its own function
  __init__()              before the first event
  __interval__()          at each interval (-i)
  __lost__(start, end)    events were lost in this period, ns of CLOCK_MONOTONIC
  __print_stat__(indent)  on SIGUSR2
  __exit__()              after the last event

options:
'''


class Usage(Exception):
    """The command line is wrong."""


# ---- the command line ----

class CommandLine:
    """Options of the run, the script with its arguments, and the command."""

    def __init__(self, words):
        self.options, self.script, self.arguments, self.command = [], None, [], None
        self.events, self.help = [], False
        words = self._take_options(list(words))
        if self.help:
            return
        if not words:
            raise Usage("name a script, as in: attar python -e sched:sched_wakeup script.py; "
                        "'help' instead of it prints one")
        self.script, rest = words[0], words[1:]
        if '--' in rest:
            at = rest.index('--')
            rest, self.command = rest[:at], rest[at + 1:]
            if not self.command:
                raise Usage("expected a command after '--'")
        self.arguments = rest

    def _take_options(self, words):
        """Set the options before the script in a run, for their errors; return the rest."""
        check = _attar.Run(None)
        while words and words[0].startswith('-') and len(words[0]) > 1:
            word = words.pop(0)
            if word == '--':
                break
            if word in ('-h', '--help'):
                self.help = True
                break
            following = words[0] if words else None
            try:
                used = check.set_word(os.fsencode(word),
                                      None if following is None else os.fsencode(following))
            except Error as error:
                raise Usage(str(error)) from None
            self.options.append((word, words.pop(0) if used == 2 else None))
        check.close()
        return words

    def event_names(self):
        """Values of -e."""
        names = []
        for word, following in self.options:
            if word in ('-e', '--event'):
                names.append(following)
            elif word.startswith('--event='):
                names.append(word[8:])
            elif re.match('-e.', word):
                names.append(word[2:])
        return names


class ScriptEvents(Events):
    """Events with options as words of a command line."""

    def __init__(self, line):
        super().__init__([], line.command)
        for word, following in line.options:
            self._run.set_word(os.fsencode(word),
                               None if following is None else os.fsencode(following))


def print_help():
    print(HELP, end='')
    for option in _options.of_profiler(None).values():
        value = f' {option.value}' if option.value else ''
        print(f'  --{option.name}{value}\n        {option.about}')


# ---- a template ----

def function_of(event):
    """The name of the function for an event: sched__sched_wakeup."""
    return re.sub(r'\W', '_', event.replace(':', '__'))


def print_template(line):
    names = line.event_names()
    if not names:
        raise Usage('specify the events with -e: attar python -e sched:sched_wakeup help')
    words = ' '.join(f'-e {name}' for name in names)
    print(f'''#!/usr/bin/env -S attar python {words} --
"""Run it: attar python {words} SCRIPT"""


def __init__():
    """Before the first event."""


def __exit__():
    """After the last event."""


def __interval__():
    """At each interval (-i)."""


def __lost__(start, end):
    """Events were lost in this period, ns of CLOCK_MONOTONIC."""


def __print_stat__(indent):
    """On SIGUSR2."""''')
    for kind in _attar.kinds(os.fsencode(','.join(names))):
        fields = '\n'.join(f'    event.{field[0]}  # {field[1]}' for field in kind.fields)
        print(f'''

def {function_of(kind.name)}(event):
    """{kind.name}. Every event has _name, _time, _realtime, _pid, _tid, _comm, _cpu, _period,
    _ip, _addr, _stack (-g), _text, _asdict(), print()."""
{fields or '    # it has no fields'}
    event.print()''')
    print('''

def __sample__(event):
    """Each event without its own function."""
    event.print()''')


# ---- the script ----

def load(script, arguments):
    """Import the script, a file or a module, with the sys.argv and sys.path of a program."""
    path = Path(script)
    sys.argv = [script, *arguments]
    if not path.exists() and Path(f'{script}.py').exists():
        path = Path(f'{script}.py')
    if not path.exists():
        sys.path.insert(0, os.getcwd())
        if '/' in script or script.endswith('.py') or not importlib.util.find_spec(script):
            raise Usage(f"there is no script or module '{script}'")
        return importlib.import_module(script)
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_loader(
        path.stem, importlib.machinery.SourceFileLoader(path.stem, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


class Calls:
    """The functions of a script."""

    NAMES = ('__init__', '__exit__', '__interval__', '__lost__', '__print_stat__', '__sample__')

    def __init__(self, module):
        self._module = module
        self._functions = {}  # by name of the event
        for name in self.NAMES:
            function = vars(module).get(name)
            setattr(self, name.strip('_'), function if callable(function) else None)

    def of_event(self, name):
        function = vars(self._module).get(function_of(name), self.sample)
        self._functions[name] = function
        return function

    def deliver(self, events):
        functions = self._functions
        for event in events:
            name = event._name
            function = functions[name] if name in functions else self.of_event(name)
            if function:
                function(event)

    def check(self, events):
        """Refuse a script without functions, and warn of functions for events not named by -e."""
        known = [function_of(name) for name in events]
        own = [name for name, value in vars(self._module).items()
               if callable(value) and '__' in name.strip('_') and not name.startswith('_')]
        for name in own:
            if known and name not in known:
                print(f"attar: no event calls {name}(){nearest(name, known)}", file=sys.stderr)
        if known and not any(getattr(self, name.strip('_')) for name in self.NAMES) \
                and not set(own) & set(known):
            raise Usage(f'the script has no function for the events: define {known[0]}(event) '
                        'or __sample__(event)')


class Session:
    """A script and its run."""

    def __init__(self, line):
        self.line, self.events, self.signals = line, ScriptEvents(line), 0
        self.calls = None

    def _stop(self, *_):
        """The first signal ends the run, the second one the process."""
        self.signals += 1
        if self.signals > 1:
            raise KeyboardInterrupt
        if not self.events.closed:
            self.events.stop()

    def _print_stat(self, *_):
        if self.calls and self.calls.print_stat:
            self.calls.print_stat(0)

    def run(self):
        self.calls = Calls(load(self.line.script, self.line.arguments))
        with self.events:
            self.calls.check(self.events.names())
            signal.signal(signal.SIGINT, self._stop)
            signal.signal(signal.SIGTERM, self._stop)
            signal.signal(signal.SIGUSR2, self._print_stat)
            try:
                self._call()
            finally:
                self._finish()
            return self.events.command_status or OK

    def _call(self):
        calls = self.calls
        if calls.init:
            calls.init()
        for batch, marks in self.events.marked_batches():
            events, done = iter(batch), 0
            for at, loss in marks:
                calls.deliver(itertools.islice(events, at - done))
                done = at
                if loss is None and calls.interval:
                    calls.interval()
                elif loss is not None and calls.lost:
                    calls.lost(loss[0], loss[1])
            calls.deliver(events)
        if calls.exit:
            calls.exit()

    def _finish(self):
        """Report what was lost, also if the script failed and the rings were not read."""
        self.events.stop()
        self.events.drain()
        notes = self.events.notes
        lost = notes['lost'] + notes['missing']
        if lost or sys.exc_info()[0] not in (None, SystemExit):
            print(f"attar: {notes['seen']} events were seen, {lost} lost", file=sys.stderr)


def show_failure():
    """The traceback of the script, without the frames of this module and of the loader."""
    kind, value, trace = sys.exc_info()
    while trace and (trace.tb_frame.f_code.co_filename == __file__
                     or 'importlib' in trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    traceback.print_exception(kind, value, trace)


def main(words):
    try:
        line = CommandLine(words)
        if line.help:
            print_help()
        elif line.script == 'help' and not Path('help').exists():
            print_template(line)
        else:
            return Session(line).run()
    except (Usage, Error) as error:
        print(f'attar: python: {error}', file=sys.stderr)
        return USAGE if isinstance(error, Usage) else _status_of(error)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception:
        show_failure()
        return FAILED
    return OK


def _status_of(error):
    """As the command: 2 usage, 3 permission, 4 not supported."""
    import errno
    return {errno.EINVAL: 2, errno.ERANGE: 2, errno.EACCES: 3, errno.EPERM: 3, errno.ENOSYS: 4,
            errno.EOPNOTSUPP: 4}.get(error.errno, FAILED)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
