# SPDX-License-Identifier: MIT
"""attar python: calls the functions of a script for each event.

    attar python [OPTIONS] [--] SCRIPT [ARGUMENTS] [-- COMMAND]
    attar python [OPTIONS] help
"""
import functools
import importlib
import importlib.machinery
import importlib.util
import itertools
import os
import re
import select
import shlex
import signal
import stat
import sys
import time
import traceback
import types
from pathlib import Path

from . import _attar, _options
from ._error import Error, nearest
from ._run import Events

OK, FAILED, USAGE = 0, 1, 2
SAME_REQUEST = 0.5  # s: signals within this time of the first one are the same request
STACKS = re.compile(r'/(stack|max-stack=\d+)(/|,|$)')  # attributes of an event
PERF_PROF = '--perf-prof'  # first word: the command has the name perf-prof
# What perf-prof takes from the words after the script; others are arguments of the script.
AFTER_SCRIPT = re.compile(
    r'-[CNegimopqtv]|--((no-)?(user|kernel)-callchain|call-graph|cgroups|clock-offset|cpus|event|'
    r'exit-N|interval|kvmclock|mmap-pages|monotonic|order|output|perfeval-cpus|perfeval-pids|pids|'
    r'quiet|sampling-limit|tids|tsc|usage-self|verbose|watermark)(=|$)')

HELP = '''attar python - call the functions of a Python script for each event

usage: attar python [OPTIONS] [--] SCRIPT [ARGUMENTS] [-- COMMAND]
       attar python -e EVENT help      print a script with all fields of the events

Functions of the script, all optional:
  sys__event(event)       for each event sys:event; other characters of a name become _
  sys__alias(event)       for each event sys:event//alias=alias/; or alias(event)
  profiler(event)         for each event of a profiler, as of -e profile/-F 997/
  __sample__(event)       for each event without its own function
  __init__()              before the first event
  __interval__()          at each interval (-i), on SIGUSR1, and for each line on standard input,
                          if that is a pipe; what follows the last is left to __exit__()
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
        self.help = self.ended = self.verbose = self.quiet = False
        self.output = None
        self.is_perf_prof = words[:1] == [PERF_PROF]
        words = self._take_options(list(words[self.is_perf_prof:]))
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
        self.arguments = self._take_more(rest) if self.is_perf_prof and not self.ended else rest

    def _take_more(self, words):
        """perf-prof: without --, its options after the script belong to the run."""
        check, rest = _attar.Run(None, True), []
        while words:
            try:
                used = self._take_option(check, words) if AFTER_SCRIPT.match(words[0]) else 0
            except Error:
                used = 0
            if not used:
                rest.append(words[0])
            words = words[used or 1:]
        check.close()
        return rest

    def _take_option(self, check, words):
        """Set the option in the first word; return the number of words that it has."""
        word, following = words[0], words[1] if len(words) > 1 else None
        if word in ('-v', '--verbose', '-q', '--quiet'):
            self.verbose |= 'v' in word
            self.quiet |= 'q' in word
            return 1
        output = re.fullmatch('(-o|--output=)(.+)', word)
        if output or word in ('-o', '--output'):
            self.output = output[2] if output else following
            if not self.output:
                raise Usage(f'{word} needs the name of a file')
            return 1 if output else 2
        used = check.set_word(os.fsencode(word),
                              None if following is None else os.fsencode(following))
        self.options.append((word, following if used == 2 else None))
        return used

    def _take_options(self, words):
        """Set the options before the script in a run, for their errors; return the rest."""
        check = _attar.Run(None, True)
        while words and words[0].startswith('-') and len(words[0]) > 1:
            if words[0] == '--':
                self.ended = True
                words = words[1:]
                break
            if words[0] in ('-h', '--help'):
                self.help = True
                break
            try:
                words = words[self._take_option(check, words):]
            except Error as error:
                raise Usage(str(error)) from None
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
        super().__init__([], line.command, True)
        words = {word for word, _ in line.options}
        if line.is_perf_prof and '--no-kernel-callchain' not in words and (
                words & {'-g', '--call-graph'} or any(map(STACKS.search, line.event_names()))):
            self._run.set_word(b'--no-user-callchain', None)  # the default of perf-prof
        if line.is_perf_prof:
            self._run.take_arrays_as_bytes()
        for word, following in line.options:
            self._run.set_word(os.fsencode(word),
                               None if following is None else os.fsencode(following))


def print_help():
    print(HELP, end='')
    for option in _options.of_profiler(None).values():
        value = f' {option.value}' if option.value else ''
        print(f'  --{option.name}{value}\n        {option.about}')
    print("  --output FILE\n        write what the script prints to this file, not to stdout")
    print('  --quiet\n        do not print the numbers of lost and missing events')
    print('  --verbose\n        print on stderr which file the script was loaded from')


# ---- a template ----

def function_of(event):
    """The name of the function for an event: sched__sched_wakeup."""
    return re.sub(r'\W', '_', event.replace(':', '__'))


def kinds_of(line):
    """The kinds of the events, with the members of their samples if the events can be opened."""
    try:
        with ScriptEvents(line) as events:
            return events._run.kinds()
    except Error:
        return _attar.kinds(os.fsencode(','.join(line.event_names())))


def fields_of(kind):
    """Lines that read each field, and what the sample of a profiler has."""
    types = {field[0]: f'  # {field[1]}' for field in kind.fields}
    names = [*types, *(name for name in kind.keys if name[0] != '_' and name not in types)]
    return [f'    event.{name}{types.get(name, "")}' if name.isidentifier() else
            f'    event[{name!r}]{types.get(name, "")}' for name in names]


def print_template(line):
    names = line.event_names()
    if not names:
        raise Usage('specify the events with -e: attar python -e sched:sched_wakeup help')
    kinds = list({kind.full_name: kind for kind in kinds_of(line)}.values())
    words = ' '.join(f'-e {shlex.quote(name)}' for name in names)
    command = 'perf-prof' if line.is_perf_prof else 'attar'
    print(f'''#!/usr/bin/env -S {command} python {words} --
# Run it: {command} python {words} SCRIPT


def __init__():
    """Before the first event."""


def __exit__():
    """After the last event."""


def __interval__():
    """At each interval (-i) and on SIGUSR1, but not at the end of the run."""


def __lost__(start, end):
    """Events were lost in this period, ns of CLOCK_MONOTONIC."""


def __print_stat__(indent):
    """On SIGUSR2."""''')
    for kind in kinds:
        fields = '\n'.join(fields_of(kind)) or '    # it has no fields'
        print(f'''

def {function_of(kind.full_name)}(event):
    """{kind.full_name}. Every event has _event, _time, _realtime, _pid, _tid, _comm, _cpu,
    _callchain (-g), _text, get(), keys(), values(), items(), to_dict(), print()."""
{fields}
    event.print()''')
    print('''

def __sample__(event):
    """Each event without its own function; event._event is its name."""
    event.print()''')


# ---- the script ----

def load_file(path):
    """Import a script or an extension module."""
    name = path.name.split('.')[0]
    loader = importlib.machinery.ExtensionFileLoader if path.suffix == '.so' else \
        importlib.machinery.SourceFileLoader
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find_module(name):
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # of a parent; no name
        return None


def add_current_directory():
    """After all others, and only if nobody else can write to it, as root runs what is there."""
    status = os.stat('.')
    if status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o002:
        sys.path.append(os.getcwd())


def check_owner(path, script):
    """A name without a folder may mean a file that another user has put into this one."""
    if '/' not in script and path.exists() and path.stat().st_uid not in (0, os.geteuid()):
        raise Usage(f"'{script}' belongs to another user: to run it, write './{script}'")


def load(script, arguments):
    """Import a file, a package or a module, with the sys.argv and sys.path of a program."""
    path = Path(script)
    sys.argv = [script, *arguments]
    if not path.exists() and Path(f'{script}.py').exists():
        path = Path(f'{script}.py')
    check_owner(path, script)
    if path.is_file() or (path.exists() and not path.is_dir()):
        return load_file(path)
    if (path / '__init__.py').exists():
        sys.path.insert(0, str(path.resolve().parent))
        return importlib.import_module(path.resolve().name)
    add_current_directory()
    if '/' in script or script.endswith('.py') or not find_module(script):
        raise Usage(f"there is no script or module '{script}'")
    return importlib.import_module(script)


def provide_perf_prof():
    """What scripts import as perf_prof: the type of events."""
    module = types.ModuleType('perf_prof', 'The type of the events of a script.')
    module.PerfEvent = _attar.TraceEvent
    sys.modules.setdefault('perf_prof', module)


def is_closed_output(error):
    """Whether standard output is a pipe that nobody reads any longer, as of | head."""
    poll = select.poll()
    poll.register(1, 0)
    return isinstance(error, BrokenPipeError) and any(
        events & select.POLLERR for _, events in poll.poll(0))


def keeps_running(function):
    """As in perf-prof: an exception of a function is printed, and the run goes on."""
    @functools.wraps(function)
    def call(*arguments):
        try:
            function(*arguments)
        except Exception as error:
            if is_closed_output(error):
                raise
            show_failure()
    return call


class Calls:
    """The functions of a script."""

    NAMES = ('__init__', '__exit__', '__interval__', '__lost__', '__print_stat__', '__sample__')

    def __init__(self, module, guard=None):
        self._module, self._guard = module, guard
        self._functions = {}  # by the event's kind
        for name in self.NAMES:
            setattr(self, name.strip('_'), self._find(name))

    def _find(self, name):
        function = vars(self._module).get(name)
        if not callable(function):
            return None
        return self._guard(function) if self._guard else function

    def of_event(self, event):
        """Its own function, by its name with system and alias, or as given."""
        names = (event._event, event._name)
        function = next(filter(None, map(self._find, map(function_of, names))), self.sample)
        self._functions[event._kind] = function
        return function

    def deliver(self, events):
        functions = self._functions
        for event in events:
            kind = event._kind
            function = functions[kind] if kind in functions else self.of_event(event)
            if function:
                function(event)

    def check(self, kinds):
        """Refuse a script without functions, and warn of functions for events not named by -e."""
        known = list(dict.fromkeys(function_of(name) for kind in kinds
                                   for name in (kind.full_name, kind.name)))
        own = [name for name, value in vars(self._module).items()
               if callable(value) and '__' in name.strip('_') and not name.startswith('_')]
        for name in own:
            if known and name not in known:
                print(f"attar: no event calls {name}(){nearest(name, known)}", file=sys.stderr)
        if known and not any(getattr(self, name.strip('_')) for name in self.NAMES) \
                and not any(map(self._find, known)):
            raise Usage(f'the script has no function for the events: define {known[0]}(event) '
                        'or __sample__(event)')


class Output:
    """The file of -o, which replaces standard output, also of what the script starts."""

    def __init__(self, path):
        self.path = path
        self.reopen()

    def _open(self):
        owners = (0, os.geteuid())
        if os.stat(os.path.dirname(self.path) or '.').st_uid not in owners:
            raise Usage(f"-o: the folder of '{self.path}' belongs to another user")
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self.path, flags, 0o600 if os.geteuid() == 0 else 0o666)
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode):
            if status.st_uid not in owners:
                os.close(fd)
                raise Usage(f"-o: '{self.path}' belongs to another user")
            os.ftruncate(fd, 0)
        return fd

    def reopen(self):
        try:
            fd = self._open()
        except OSError as error:
            raise Usage(f"-o: cannot write to '{self.path}': {error.strerror}") from None
        sys.stdout.flush()
        os.dup2(fd, 1)
        os.close(fd)

    def is_moved(self):
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(1))
        except OSError:
            return True


class Lines:
    """Lines of standard input if it is a pipe: each one ends an interval."""

    WAIT_MS = 100

    def __init__(self, line):
        self._part, self.marker, self._is_open = b'', None, False
        inputs = [following or word.partition('=')[2] for word, following in line.options
                  if word.partition('=')[0] == '--input']
        if line.command or any(not Path(path).is_fifo() for path in inputs):
            return
        try:
            mode = os.fstat(0).st_mode
        except OSError:  # it is closed
            return
        self._is_open = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    def wait(self):
        """For how many ms to wait for events."""
        return self.WAIT_MS if self._is_open else -1

    def read(self):
        """Whether a line has come; of several, the last is the marker."""
        if not self._is_open or not select.select([0], [], [], 0)[0]:
            return False
        read = os.read(0, 4096)
        self._is_open = bool(read)
        *lines, self._part = (self._part + read).split(b'\n')
        self._part = self._part[:1024]
        if lines:
            text = lines[-1][:1024].decode(errors='replace')
            self.marker = ''.join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
        return bool(lines)

    def print_marker(self):
        if self.marker is not None:
            print(f'marker: {self.marker}', flush=True)
        self.marker = None


class Session:
    """A script and its run."""

    def __init__(self, line):
        self.line, self.events, self.stopped = line, ScriptEvents(line), None
        self.calls = self.output = None
        self.lines = Lines(line)

    def _stop(self, *_):
        """
        The first signal ends the run, a later one the process. timeout(1) sends its signal to the
        process and to its group: this is one request.
        """
        now = time.monotonic()
        if self.stopped is None:
            self.stopped = now
            if not self.events.closed:
                self.events.stop()
        elif now - self.stopped >= SAME_REQUEST:
            raise KeyboardInterrupt

    def _print_stat(self, *_):
        if self.calls and self.calls.print_stat:
            self.calls.print_stat(0)

    def _report(self, *_):
        if self.output and self.output.is_moved():
            self.output.reopen()
        self.events._run.request_report()

    def _take_signals(self):
        """As all profilers: an ignored SIGHUP, as of nohup(1), stays ignored."""
        for number in (signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGUSR1, self._report)
        signal.signal(signal.SIGUSR2, self._print_stat)

    def run(self):
        if self.line.output:
            self.output = Output(self.line.output)
        provide_perf_prof()
        module = load(self.line.script, self.line.arguments)
        if self.line.verbose:
            print(f"Loaded module: {getattr(module, '__file__', self.line.script)}",
                  file=sys.stderr)
        self.calls = Calls(module, keeps_running if self.line.is_perf_prof else None)
        with self.events:
            self.calls.check(self.events._run.kinds())
            self._take_signals()
            try:
                self._call()
            finally:
                self._finish()
            return self.events.command_status or OK

    def _call(self):
        calls = self.calls
        if calls.init:
            calls.init()
        for batch, marks in self.events.marked_batches(self.lines.wait):
            if calls.interval and self.lines.read():
                self._report()
            events, done = iter(batch), 0
            for at, what in marks:
                calls.deliver(itertools.islice(events, at - done))
                done = at
                if isinstance(what, str):
                    print(what)
                elif what is None and calls.interval:
                    self.lines.print_marker()
                    calls.interval()
                elif what is not None and calls.lost:
                    calls.lost(what[0], what[1])
            calls.deliver(events)
        if calls.exit:
            calls.exit()

    def _finish(self):
        """Report what was lost, also if the script failed and the rings were not read."""
        self.events.stop()
        self.events.drain()
        notes = self.events.notes
        lost, missing = notes['lost'], notes['missing']
        kind, error, _ = sys.exc_info()
        failed = kind not in (None, SystemExit) and not is_closed_output(error)
        if failed or ((lost or missing) and not self.line.quiet):
            print(f"attar: {notes['seen']} events were seen, {lost} lost"
                  + (f', {missing} missing: the kernel counted them, but attar did not receive them'
                     if missing else ''), file=sys.stderr)


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
    except Exception as error:
        if not is_closed_output(error):
            show_failure()
            return FAILED
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK


def _status_of(error):
    """As the command: 2 usage, 3 permission, 4 not supported."""
    import errno
    return {errno.EINVAL: 2, errno.ERANGE: 2, errno.EACCES: 3, errno.EPERM: 3, errno.ENOSYS: 4,
            errno.EOPNOTSUPP: 4}.get(error.errno, FAILED)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
