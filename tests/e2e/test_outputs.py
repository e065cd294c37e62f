# SPDX-License-Identifier: MIT
"""Where results are written, and what happens when they cannot be."""
import fcntl
import gzip
import json
import os
import pty
import pytest
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from command import ATTAR, Profile, has, is_sampling, run, share_is, wait_until, workload
from faults import sanitized

pytestmark = pytest.mark.quick


def test_format_by_extension(tmp_path):
    for extension, first in [('json', '{"schema":"attar/1"'), ('csv', ''),
                             ('html', '<!DOCTYPE html>'), ('folded', ''),
                             ('txt', '')]:
        out = tmp_path / f'x.{extension}'
        done = run('profile', '-q', '-g', '-o', out, '--', workload('split7030'), 300)
        assert done.returncode == 0, done.stderr
        assert out.read_text().lower().startswith(first.lower())
        assert done.stdout == ''


@pytest.mark.slow
def test_folded_shares(tmp_path):
    out = tmp_path / 'cpu.folded'
    done = run('profile', '-q', '-F', 997, '-g', '--exclude-kernel', '--flame-graph', out, '--',
               workload('split7030'))
    assert done.returncode == 0, done.stderr
    counts = {}
    for line in out.read_text().splitlines():
        stack, n = line.rsplit(' ', 1)
        leaf = re.sub(r'_\[\w\]$', '', stack.split(';')[-1])
        counts[leaf] = counts.get(leaf, 0) + int(n)
    share_is(counts['heavy'], sum(counts.values()), 0.7)


def test_flame_graph_option_writes_html(tmp_path):
    page = tmp_path / 'cpu.html'
    done = run('profile', '-q', '-g', '--flame-graph', page, '--', workload('split7030'), 300)
    assert done.returncode == 0 and page.read_text().startswith('<!doctype html>')


SLEEP = '''# attar script
event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_state:long \
next_comm:char[16] next_pid:pid_t
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
event cpu-clock stack
1 0 7/7 a sched:sched_switch prev_comm=a prev_pid=7 prev_state=1 stack=0xffffffff81000000
2 0 0/0 swapper sched:sched_wakeup comm=a pid=7
3 0 0/0 swapper sched:sched_switch next_comm=a next_pid=7 stack=0xffffffff81000000
3 0 7/7 a cpu-clock stack=0xffffffff81000000
'''.replace('\\\n', '')
SWITCH, WAKEUP = 'sched:sched_switch', 'sched:sched_wakeup'


@pytest.mark.parametrize('args, names', [
    (['task-state'], ['task-state']), (['task-state', '-g'], ['task-state', 'functions']),
    (['task-state', '--than', '1ms'], ['segments', 'task-state']),
    (['profile', '-e', 'cpu-clock'], ['functions']),
    (['profile', '-e', 'cpu-clock', '-g'], ['functions', 'stacks']),
    (['profile', '-e', 'cpu-clock', '--print-samples', '-g'], ['samples']),
    (['trace', '-g', '-e', SWITCH], ['events']), (['overview'], None),
    (['nested-trace', '-e', f'{SWITCH}/prev_pid==7/,{SWITCH}/next_pid==7/'], ['calls'])])
def test_tables_do_not_depend_on_other_outputs(tmp_path, args, names):
    """A page, a flame graph and a profile need stacks; tables have them with -g only."""
    script = tmp_path / 'x.script'
    script.write_text(SLEEP)
    tables = 'x.csv', 'x.txt'
    found = []
    for others in [], ['x.html', 'x.folded', 'x.pb.gz']:
        words = [word for name in (*tables, 'x.json', *others) for word in ('-o', tmp_path / name)]
        done = run(*args, '-q', '--input', script, *words)
        assert done.returncode == 0, done.stderr
        with (tmp_path / 'x.json').open() as lines:
            sections = [s for line in lines for s in json.loads(line)['sections']]
        found.append([re.sub(r'(?m)^(.*attar itself|note:).*\n', '', (tmp_path / name).read_text())
                      for name in tables] + [sections])
    assert found[0] == found[1]
    assert names is None or [s['name'] for s in found[0][-1]] == names
    assert (tmp_path / 'x.folded').read_text()
    run(*args, '-q', '--input', script, '--flame-graph', os.devnull, '-o', tmp_path / 'x.json')
    assert '"kind":"tree"' in (tmp_path / 'x.json').read_text()


def test_each_can_be_combined_with_stacks(tmp_path):
    """--print-samples prints single samples, and an output made of stacks has them all."""
    folded = tmp_path / 'x.folded'
    done = run('profile', '-F', 997, '-g', '--exclude-kernel', '--print-samples', '-o', folded,
               '--', workload('split7030'), 500)
    assert done.returncode == 0, done.stderr
    samples = sum(int(line.rsplit(' ', 1)[1]) for line in folded.read_text().splitlines())
    assert samples == len(re.findall(r'cpu-clock$|cycles$', done.stdout, re.M)) > 50


def test_file_is_replaced_only_by_a_result(tmp_path):
    out = tmp_path / 'x.json'
    out.write_text('precious')
    assert run('profile', '-o', out, '-p', 999999999).returncode != 0
    assert out.read_text() == 'precious'
    fresh = tmp_path / 'fresh.json'
    assert run('profile', '-o', fresh, '-p', 999999999).returncode != 0
    assert not fresh.exists()


@pytest.mark.parametrize('profiler', ['trace', 'top'])
def test_file_is_emptied_before_the_first_report(root, tmp_path, profiler):
    """
    Truncating a large file takes time, in which rings would overflow. top does it before events are
    enabled; a thread does it for trace, whose lines it also writes. The command waits for it.
    """
    out = tmp_path / 'x.json'
    out.write_text('old' * 1000)
    done = run(profiler, '-q', '-i', '1h', '-o', out, '-e', 'sched:sched_process_exec', '--', 'sh',
               '-c', f'while [ -s {out} ]; do sleep 0.01; done')
    assert done.returncode == 0, done.stderr
    assert out.read_text().startswith('{"schema"')


def test_lines_replace_former_contents(root, tmp_path):
    out = tmp_path / 'x.json'
    out.write_text('old' * 1000)
    done = run('trace', '-q', '-o', out, '-e', 'sched:sched_process_exec', '--', 'true')
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert text.startswith('{"schema"') and 'oldold' not in text and 'sched_process_exec' in text


WITHOUT_STACKS = {
    ('stat',): "folded output needs aggregated stacks, which 'attar stat' does not produce: "
               "use 'attar profile -e EVENT'",
    ('trace', '-e', 'page-faults'): "'trace' has no call stacks for the output: add -g, or the "
                                    "attribute stack to an event",
}


def append(path):
    return run('stat', '-q', '-e', 'page-faults', '-i', '50ms', '-d', '200ms', '--append', '-o',
               path)


def test_append_removes_an_incomplete_line(tmp_path):
    """Also one longer than the blocks in which the end of the file is read."""
    path, lines = tmp_path / 'x.json', '{"time":1}\n{"time":2}\n'
    for cut in ('{"ti', 'x' * 10000):
        path.write_text(lines + cut)
        done = append(path)
        assert done.returncode == 0
        assert f"'{path}': removing the last line, which is incomplete" in done.stderr
        assert path.read_text().startswith(lines)
        assert [json.loads(line)['time'] for line in path.read_text().splitlines()][:2] == [1, 2]
    assert not append(path).stderr


def test_append_adds_numbers_to_names(tmp_path):
    """Files without contents are used."""
    path = tmp_path / 'a.b.csv'
    (tmp_path / 'a.b.1.csv').touch()
    for n in range(3):
        assert append(path).returncode == 0
    assert {p.name for p in tmp_path.iterdir()} == {'a.b.csv', 'a.b.1.csv', 'a.b.2.csv'}
    assert all(p.read_text().count('time,') == 1 for p in tmp_path.iterdir())


def test_append_does_not_replace_the_file_of_a_single_report(tmp_path):
    path = tmp_path / 'x.json'
    for n in (1, 2):
        done = run('stat', '-q', '-e', 'page-faults', '--append', '-o', path, '--', 'true')
        assert done.returncode == 0 and len(path.read_text().splitlines()) == n


def test_append_refuses_a_database_of_another_version(tmp_path):
    path = tmp_path / 'x.db'
    assert append(path).returncode == 0
    with sqlite3.connect(path) as db:
        db.execute('PRAGMA user_version = 99')
    done = append(path)
    assert done.returncode == 1
    assert 'has version 99 of the tables, not 1: use another file' in done.stderr


@pytest.mark.parametrize('profiler', WITHOUT_STACKS, ids=lambda words: words[0])
@pytest.mark.parametrize('words', [('-o', 'x.folded'), ('--format', 'folded')],
                         ids=lambda words: words[0])
def test_stack_formats_are_refused_without_stacks(root, tmp_path, profiler, words):
    """Refused before the run: an existing file is unchanged, and none is created."""
    (tmp_path / 'x.folded').write_text('precious')
    done = run(*profiler, *words, '--', 'touch', tmp_path / 'ran', cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr == f'attar: {WITHOUT_STACKS[profiler]}\n'
    assert [file.name for file in tmp_path.iterdir()] == ['x.folded']
    assert (tmp_path / 'x.folded').read_text() == 'precious'


@pytest.mark.parametrize('profiler', ['stat', 'top'])
def test_flame_graph_is_an_option_of_stack_profilers_only(profiler):
    assert '--flame-graph' not in run(profiler, '-h', 'all').stdout
    done = run(profiler, '--flame-graph', 'x', '--', 'true')
    assert done.returncode == 2 and 'no such option --flame-graph' in done.stderr


@pytest.mark.parametrize('second', ['x.folded', './x.folded', 'symbolic.folded', 'hard.folded',
                                    'dangling.folded'])
@pytest.mark.parametrize('exists', [True, False])
def test_same_file_for_two_outputs_is_refused(tmp_path, second, exists):
    """Refused before the run: an existing file is unchanged, and none is created."""
    if second == 'hard.folded' and not exists:
        pytest.skip('a hard link needs a file')
    if exists:
        (tmp_path / 'x.folded').write_text('precious')
    if second == 'hard.folded':
        (tmp_path / second).hardlink_to(tmp_path / 'x.folded')
    elif second != './x.folded' and second != 'x.folded':
        (tmp_path / second).symlink_to('x.folded')
    before = sorted(tmp_path.iterdir())
    done = run('profile', '-o', 'x.folded', '--flame-graph', second, '--', 'touch', 'ran',
               cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr.endswith(': use a separate file for each output\n') \
        and "'x.folded'" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert not exists or (tmp_path / 'x.folded').read_text() == 'precious'


@pytest.mark.parametrize('second', ['x.prom', './x.prom', 'symbolic.prom', 'hard.prom'])
@pytest.mark.parametrize('exists', [True, False])
def test_same_file_for_two_outputs_that_replace_it_is_refused(tmp_path, second, exists):
    if second == 'hard.prom' and not exists:
        pytest.skip('a hard link needs a file')
    if exists:
        (tmp_path / 'x.prom').write_text('precious')
    if second == 'hard.prom':
        (tmp_path / second).hardlink_to(tmp_path / 'x.prom')
    elif second == 'symbolic.prom':
        (tmp_path / second).symlink_to('x.prom')
    before = sorted(tmp_path.iterdir())
    done = run('profile', '-o', 'x.prom', '-o', second, '--', 'touch', 'ran', cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr.endswith(': use a separate file for each output\n') \
        and "'x.prom'" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert not exists or (tmp_path / 'x.prom').read_text() == 'precious'


def test_file_of_stdout_as_output_is_refused(tmp_path):
    out = tmp_path / 'x.txt'
    with open(out, 'w') as file:
        done = run('profile', '-d', '100ms', '-o', out, stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 2 and done.stderr.endswith(
        f"'{out}' is also stdout: use a separate file for each output\n")


@pytest.mark.parametrize('form', ['json', 'csv', 'folded', 'html'])
def test_stdout_of_the_command_is_separate_from_data(form):
    done = run('profile', '--exclude-kernel', '-g', '--format', form, '--', 'echo', 'spoken')
    assert done.returncode == 0
    assert 'spoken\n' in done.stderr and 'spoken\n' not in done.stdout
    if form == 'json':
        assert len(Profile(done.stdout).reports) == 1


def test_stdout_of_the_command_with_text_reports():
    """Text is for people; with -q, stdout belongs to the command."""
    assert 'spoken\n' in run('profile', '--', 'echo', 'spoken').stdout
    assert run('profile', '-q', '--', 'echo', 'spoken').stdout == 'spoken\n'


def test_full_device_is_reported():
    with open('/dev/full', 'w') as full:
        done = run('profile', '-d', '200ms', stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == \
        'attar: cannot write the results to stdout: No space left on device'


def test_full_disk_is_reported(tmp_path, root):
    """A file system of 16 KiB is too small for a flame graph page."""
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    where = tmp_path / 'small'
    where.mkdir()
    script = f'mount -t tmpfs -o size=16k none {where} && ' \
             f'exec {ATTAR} profile -q -d 300ms -a -g -o {where}/x.html'
    done = run('-m', 'sh', '-c', script, program='unshare')
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == \
        f"attar: cannot write '{where}/x.html': No space left on device"


RESULTS = 'x.json', 'x.html', 'x.db', 'x.csv', 'x.txt', 'x.folded', 'x.pb.gz'


@pytest.mark.parametrize('name', RESULTS)
def test_a_full_disk_leaves_the_former_result(tmp_path, root, name):
    """It is not truncated, and nothing else is left; no file is there that did not exist."""
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    where = tmp_path / 'small'
    where.mkdir()
    events = tmp_path / 'events.script'
    events.write_text('# attar script\nevent cpu-clock stack\n' + ''.join(
        f'1.{i:06} 0 {i}/{i} program{i} cpu-clock stack={i:#x}\n' for i in range(1, 3000)))
    script = f'mount -t tmpfs -o size=64k none {where} && cd {where} && ' \
        f'head -c 57344 /dev/zero >full && echo former >{name} && ' \
        f'{ATTAR} profile -q -g --rows 0 --input {events} -o {name} -o new-{name}; ' \
        f'echo $?; ls; cat {name}'
    done = run('-m', 'sh', '-c', script, program='unshare')
    assert done.stdout.split() == ['1', 'full', name, 'former'], done.stderr
    assert f"cannot write '{name}': No space left on device" in done.stderr


def test_a_result_keeps_owner_mode_and_names(tmp_path, root):
    """Also through a link; what has a second name is written in place."""
    os.chown(tmp_path, 1234, 1234)
    for name in RESULTS:
        path = tmp_path / name
        path.write_text('former')
        os.chown(path, 1234, 1234)
        path.chmod(0o640)
        (tmp_path / f'link-{name}').symlink_to(name)
    (tmp_path / 'second').hardlink_to(tmp_path / 'x.html')
    inode = (tmp_path / 'x.json').stat().st_ino
    names = [word for name in RESULTS for word in ('-o', tmp_path / f'link-{name}')]
    done = run('profile', '-q', '-g', '-a', '-d', '100ms', *names)
    assert done.returncode == 0, done.stderr
    for name in RESULTS:
        assert (tmp_path / f'link-{name}').is_symlink()
        found = (tmp_path / name).stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 1234, 0o640)
        assert (tmp_path / name).read_bytes() != b'former'
    assert (tmp_path / 'second').samefile(tmp_path / 'x.html')
    assert (tmp_path / 'x.json').stat().st_ino != inode
    assert len(list(tmp_path.iterdir())) == 2 * len(RESULTS) + 1


def test_each_output_on_a_full_disk_is_reported(tmp_path, root):
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    where = tmp_path / 'small'
    where.mkdir()
    for filled in 4096, 16384:
        script = f'mount -t tmpfs -o size=16k none {where} && head -c {filled} /dev/zero ' \
                 f'> {where}/fill; exec {ATTAR} profile -F 997 -g -o {where}/x.html ' \
                 f'> {where}/out -- {workload("split7030")} 300'
        done = run('-m', 'sh', '-c', script, program='unshare')
        assert done.returncode == 1
        lines = [line for line in done.stderr.splitlines() if 'cannot write' in line]
        assert sorted(lines) == [
            f"attar: cannot write '{where}/x.html': No space left on device",
            'attar: cannot write the results to stdout: No space left on device'], done.stderr


def test_unwritable_file_is_reported(tmp_path, open_dir, root):
    from command import as_nobody
    folder = open_dir('split7030')
    done = as_nobody(folder / 'attar', 'profile', '-q', '-o', folder / 'x.json', '--',
                     folder / 'split7030', 100)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == \
        f"attar: cannot write '{folder}/x.json': Permission denied"


def test_folder_as_output_is_refused(tmp_path):
    folder = tmp_path / 'x.json'
    folder.mkdir()
    done = run('profile', '-d', '100ms', '-o', folder)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == f"attar: cannot write '{folder}': Is a directory"


def test_closed_pipe_ends_attar_quietly():
    """`attar ... | head -1` ends at once, without a message."""
    start = time.monotonic()
    done = run(
        '-c', f'set -o pipefail; {ATTAR} profile -i 50 -d 30s | head -1; exit ${{PIPESTATUS[0]}}',
        program='bash')
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 10
    assert 'pipe' not in done.stderr.lower()
    assert done.stdout.count('\n') == 1


def test_closed_stdout_at_start():
    done = run('-c', f'exec {ATTAR} profile -d 200ms >&-', program='bash')
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == 'attar: cannot write the results to stdout: it is closed'


def test_closed_descriptors_are_not_reused(tmp_path):
    """With stdin, stdout and stderr closed, no file that attar opens gets their descriptors."""
    out = tmp_path / 'x.json'
    done = run('-c', f'exec {ATTAR} profile -v -q -d 200ms -o {out} <&- >&- 2>&-', program='bash')
    assert done.returncode == 0
    assert Profile(out.read_text()).notes['lost'] == 0


TEXTS = ['-h', '--version', 'profile -h', 'help profile', 'help --man profile', 'completion bash',
         'list -h',
         'list', 'list --names', 'list sched:sched_switch', 'doctor']


@pytest.mark.parametrize('words', TEXTS)
def test_text_that_cannot_be_written_fails(root, words):
    for where, reason in ('/dev/full', 'No space left on device'), ('&-', 'it is closed'):
        done = run('-c', f'exec {ATTAR} {words} >{where}', program='bash')
        assert done.returncode == 1
        assert re.search(rf'^attar: cannot write (to stdout|the report): {reason}\Z',
                         done.stderr.strip(), re.M)


def test_slow_reader_of_reports_misses_nothing(spawn):
    """Reports wait for a reader that sleeps during the whole run; the rings are read meanwhile."""
    busy = spawn(workload('split7030'), 1000000)
    done = run(
        '-c', f'{ATTAR} profile -F 5000 -g -m 64 -i 50 -p {busy.pid} -d 2s --format json | (sleep '
              '3; cat)',
        program='bash')
    assert done.returncode == 0
    reports = Profile(done.stdout).reports
    # a busy machine merges intervals
    assert len(reports) > 10 and sum(r['notes']['lost'] for r in reports) == 0
    assert sum(r['notes']['seen'] for r in reports) > 200


def printed_and_missed(form, text, errors):
    """Return the number of printed rows, and the number of unprinted rows in the notes."""
    if form == 'json':
        reports = [json.loads(line) for line in text.splitlines()]
        rows = sum(len(s['rows']) for r in reports for s in r['sections'] if s['kind'] == 'events')
        return rows, sum(r['notes']['unprinted'] for r in reports if r['notes'])
    notes = text if form == 'text' else errors
    missed = re.search(r'; ([\d,]+) lines not printed because the reader was too slow; ',
                       ' '.join(notes.split()))
    return text.count('cpu-clock\n' if form == 'text'
                      else ',cpu-clock,'), int(missed[1].replace(',', ''))


@pytest.mark.slow
@pytest.mark.parametrize('form', ['text', 'json', 'csv'])
def test_lines_missed_by_a_stalled_reader_are_counted(root, spawn, tmp_path, form):
    """
    Lines that a slow reader of stdout misses are dropped there only, and counted: no ring loses
    events, a file has every sample, and printed and dropped lines add up to what was seen.
    """
    if sanitized():
        pytest.skip(
            'a sanitized attar prints so slowly that it hardly outruns a reader that stands')
    busy = spawn(workload('split7030'), 1000000)
    out, text = tmp_path / 'all.csv', tmp_path / 'text'
    done = run('-c', f'{ATTAR} profile -F 20000 --print-samples -g -m 4096 -p {busy.pid} -N 40000 '
                     f'-d 100s -o {out} --format {form} --buffer 1M | '
                     f'(until [ "$(stat -c %s {out})" -gt 6000000 ]; do sleep 0.1; done; cat '
                     f'>{text})', program='bash',
               timeout=120)
    assert done.returncode == 0, done.stderr
    found = text.read_text()
    printed, missed = printed_and_missed(form, found, done.stderr)
    warned = re.search(r'^attar: the reader of stdout was too slow: (\d+) lines were not printed; ',
                       done.stderr, re.M)
    assert out.read_text().count(',cpu-clock,') == printed + missed == 40000
    assert missed > 1000 and done.stderr.count('too slow') == 1
    assert warned is None if form == 'csv' else int(warned[1]) == missed
    if form == 'text':
        lost = re.search(r'^[\d,]+ samples seen, ([\d,]+) lost', found, re.M)[1]
        assert int(lost.replace(',', '')) < 600


FLOOD = 100000


@pytest.mark.parametrize('source', ['buffer', 'recording'])
def test_lines_wait_for_a_slow_reader(root, tmp_path, source):
    """Lines wait in a buffer that is large enough; a recording needs none."""
    go, text, over = (tmp_path / name for name in ('go', 'text', 'over'))
    events = ['-m', '8192', '-e', 'syscalls:sys_enter_getppid', '--', 'sh', '-c',
              f'{workload("flood")} {FLOOD} >/dev/null; : >{over}']
    if source == 'recording':
        data = tmp_path / 'flood.data'
        assert run('record', '-q', '-o', data, *events).returncode == 0
        words = ['--input', data]
    else:
        words = ['--buffer', '256M', *events]
    os.mkfifo(go)
    reader = subprocess.Popen(['sh', '-c', f'read _ <{go}; exec cat >{text}'],
                              stdin=subprocess.PIPE)
    attar = subprocess.Popen([ATTAR, 'trace', *map(str, words)], stdout=reader.stdin,
                             stderr=subprocess.PIPE, text=True)
    reader.stdin.close()
    wait_until(over.exists, 'the program has made all calls, and no line was read')
    go.write_text('go\n')
    errors = attar.communicate(timeout=60)[1]
    assert (attar.returncode, reader.wait(60), errors.count('slow')) == (0, 0, 0)
    assert len(re.findall(' flood .* syscalls:sys_enter_getppid', text.read_text())) == FLOOD


def test_lines_wait_for_a_slow_file(root, tmp_path):
    """A FIFO that is not read stands for a stalled disk. The rings hold half of the events."""
    calls = 400000
    fifo, go, text, over = (tmp_path / name for name in ('x.csv', 'go', 'text', 'over'))
    os.mkfifo(fifo)
    os.mkfifo(go)
    with subprocess.Popen(['sh', '-c', f'exec 3<{fifo}; read _ <{go}; exec cat <&3 >{text}']), \
            subprocess.Popen([ATTAR, 'trace', '-q', '-m', '4096', '--buffer', '256M', '-e',
                              'syscalls:sys_enter_getppid', '-o', fifo, '--', 'sh', '-c',
                              f'{workload("flood")} {calls} >/dev/null; : >{over}'],
                             stderr=subprocess.PIPE, text=True) as attar:
        wait_until(over.exists, 'the program has made all calls, and no line was read')
        go.write_text('go\n')
        errors = attar.communicate(timeout=60)[1]
    assert (attar.returncode, errors) == (0, '')
    assert text.read_text().count(',flood,') == calls


FUTEX = {'x86_64': '202', 'aarch64': '98'}[os.uname().machine]


def calls_of(process):
    return Path(f'/proc/{process.pid}/syscall').read_text().split()[0]


@pytest.fixture
def unread_pipe():
    """Open a FIFO, or a pipe, whose reader takes nothing."""
    descriptors = []

    def make(path=None):
        if path:
            os.mkfifo(path)
            make.readers.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            return path
        reader, writer = os.pipe()
        make.readers.append(reader)
        descriptors.append(writer)
        return writer

    make.readers = []
    yield make
    for fd in descriptors + make.readers:
        os.close(fd)


def waiting_bytes(reader):
    return struct.unpack('i', fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0]


@pytest.mark.slow
def test_a_signal_ends_waits_for_readers(root, spawn, tmp_path, unread_pipe):
    """SIGTERM ends attar when the reader has taken nothing for ten seconds."""
    events = '-a', '-e', 'raw_syscalls:sys_enter'
    unwritten = r'reader did not read (?:the last )?([1-9]\d+)'
    commands = {  # all write more than a pipe holds
        'x.csv': ['trace', *events], 'x.html': ['profile', '-g', '-a'],
        'x.data': ['record', *events], '-': ['record', *events],
        None: ['trace', *events, '--format', 'json'],
    }
    started = {}
    for name, command in commands.items():
        stdout = subprocess.DEVNULL if name and name != '-' else unread_pipe()
        out = ['-o', name if name == '-' else unread_pipe(tmp_path / name)] if name else []
        started[name] = spawn(ATTAR, *command, '-q', *out, stdout=stdout, stderr=subprocess.PIPE,
                              text=True)
    for process in started.values():
        wait_until(lambda started=process: is_sampling(started), 'it samples')
    readers = [r for r, name in zip(unread_pipe.readers, commands) if name != 'x.html']

    def are_full():
        for _ in range(3000):
            os.getppid()
        return all(waiting_bytes(reader) > 60000 for reader in readers)

    wait_until(are_full, 'all pipes are full')
    for process in started.values():
        process.terminate()
    for name, process in started.items():
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == 1 and re.search(unwritten, errors), (name, errors)


def test_a_second_signal_ends_a_wait_for_a_reader(root, spawn, tmp_path, unread_pipe):
    process = spawn(ATTAR, 'trace', '-q', '-e', 'syscalls:sys_enter_getppid', '-o',
                    unread_pipe(tmp_path / 'x.csv'), '--', workload('flood'), 20000,
                    stderr=subprocess.PIPE, text=True)
    wait_until(lambda: calls_of(process) == FUTEX, 'it waits for the thread that writes')
    process.send_signal(signal.SIGHUP)  # the kernel delivers it first: its number is lower

    def interrupted():
        process.send_signal(signal.SIGINT)
        return process.poll() is not None

    wait_until(interrupted, 'it has ended')
    errors = process.communicate()[1]
    assert process.returncode == -signal.SIGINT
    assert re.search(r"cannot write '.*x.csv': its reader did not read the last [1-9]\d+ bytes",
                     errors), errors


def test_stopped_terminal_does_not_block_rings(spawn):
    """After Ctrl-S the rings are still read; after Ctrl-Q all output appears."""
    import fcntl
    import termios
    busy = spawn(workload('split7030'), 1000000)
    master, slave = pty.openpty()
    termios.tcflow(slave, termios.TCOOFF)
    attar = spawn(ATTAR, 'profile', '-F', 5000, '-g', '-m', 64, '-i', 50, '-p', busy.pid, '-d',
                  '1500ms', stdout=slave,
                  stderr=subprocess.DEVNULL)
    time.sleep(2)
    assert attar.poll() is None
    termios.tcflow(slave, termios.TCOON)
    fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
    text = b''
    while True:
        ended = attar.poll() is not None
        try:
            text += os.read(master, 65536)
        except BlockingIOError:
            if ended:
                break
            time.sleep(0.01)
    assert attar.returncode == 0
    lost = re.findall(rb'samples seen, ([\d,]+) lost', text)
    assert len(lost) > 7 and set(lost) == {b'0'}  # a busy machine merges intervals
    os.close(master)
    os.close(slave)


def test_failed_output_does_not_affect_others(tmp_path):
    page, numbers = tmp_path / 'x.html', tmp_path / 'x.json'
    with open('/dev/full', 'w') as full:
        done = run('profile', '-g', '-i', 50, '-d', '30s', '-o', page, '-o', numbers, stdout=full,
                   stderr=subprocess.PIPE,
                   timeout=20)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == \
        'attar: cannot write the results to stdout: No space left on device'
    reports = Profile(numbers.read_text()).reports
    assert sum(r['notes']['seen'] for r in reports) > 0 \
        and page.read_text().rstrip().endswith('</html>')


def test_files_are_written_after_the_reader_exits(tmp_path):
    page = tmp_path / 'x.html'
    done = run(
        '-c', f'{ATTAR} profile -g -i 50 -d 30s -o {page} | head -1; exit ${{PIPESTATUS[0]}}',
        program='bash',
        timeout=20)
    assert done.returncode == 0, done.stderr
    assert page.read_text().rstrip().endswith('</html>')


def on_terminal(columns, *args, env=None):
    """Run attar on a terminal of that width, and return what appeared on it."""
    import fcntl
    import struct
    import termios
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    process = subprocess.Popen([str(ATTAR), *map(str, args)], stdin=subprocess.DEVNULL,
                               stdout=slave, stderr=slave,
                               env={**os.environ, 'TERM': 'xterm', **(env or {})})
    os.close(slave)
    text = b''
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(master)
    assert process.wait(30) == 0
    return text.decode(errors='surrogateescape').replace('\r\n', '\n')


def visible(line):
    return re.sub(r'\x1b\[[0-9;]*[A-Za-z]', '', line.split('\r')[-1])


@pytest.mark.parametrize('columns', [20, 40, 80, 200])
def test_report_fits_the_terminal(columns):
    """All lines of the report fit; only messages on stderr may wrap."""
    text = on_terminal(columns, 'profile', '-g', '--exclude-kernel', '--', workload('split7030'),
                       800)
    lines = [visible(line) for line in text.splitlines() if not line.startswith('attar: ')]
    assert columns == 20 or any('heavy' in line for line in lines)
    too_long = [line for line in lines if len(line) > columns]
    assert not too_long, too_long[:3]


def test_no_color_is_honoured():
    args = ['profile', '--exclude-kernel', '--', workload('split7030'), 300]
    colour = re.compile('\x1b\\[[0-9;]*m')
    assert colour.search(on_terminal(80, *args))
    assert not colour.search(on_terminal(80, *args, env={'NO_COLOR': '1'}))


def test_no_colour_in_a_pipe():
    done = run('profile', '--exclude-kernel', '--', workload('split7030'), 300)
    assert '\x1b' not in done.stdout + done.stderr


def test_progress_on_a_terminal():
    text = on_terminal(80, 'profile', '-d', '2500ms')
    assert re.search(r'\d+ s, [\d,]+ events', text)


def test_dumb_terminal_gets_no_escape_sequences():
    """20 columns and TERM=dumb, in a run long enough to show progress."""
    for term in ('dumb', ''):
        text = on_terminal(20, 'profile', '-g', '--exclude-kernel', '-d', '5s', '--',
                           workload('split7030'), 1500,
                           env={'TERM': term})
        assert '\x1b' not in text and 'heavy' in text


@pytest.mark.parametrize('locale, ellipsis',
                         [('C', '~'), ('de_DE.ISO-8859-1', '~'), ('C.UTF-8', '…'), ('', '…')])
def test_ascii_terminal_gets_ascii(locale, ellipsis):
    """Text that is cut at 20 columns ends in an ellipsis that the terminal can show."""
    env = {'LC_ALL': locale, 'LC_CTYPE': '', 'LANG': ''}
    text = on_terminal(20, 'profile', '-g', '--exclude-kernel', '--', workload('split7030'), 400,
                       env=env)
    assert ellipsis in text and text.isascii() == (ellipsis == '~')
    assert max(len(visible(line)) for line in text.splitlines()
               if not line.startswith('attar: ')) <= 20


@pytest.mark.parametrize('command', ['doctor', 'list'])
def test_ascii_terminal_gets_ascii_from_other_commands(root, command):
    for locale, ellipsis in ('C', '~'), ('C.UTF-8', '…'):
        text = on_terminal(30, command, env={'LC_ALL': locale})
        assert ellipsis in text and text.isascii() == (ellipsis == '~')


FORMS = ['text', 'json', 'csv', 'folded', 'html']


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('event, least', [('mem:0x601000:w', 0), ('sched:sched_process_exec', 1)])
def test_reports_with_few_samples(root, tmp_path, form, event, least):
    """No sample, or only one of the command's exec: every format is valid and says so."""
    out = tmp_path / 'out'
    done = run('profile', '-g', '-e', event, '--format', form, '--', 'true')
    assert done.returncode == 0, done.stderr
    out.write_text(done.stdout)
    seen = re.search(r'\b(\d+) samples? seen', done.stdout + done.stderr)
    if form == 'json':
        found = Profile(done.stdout)
        assert found.notes['seen'] == found.samples == least and found.notes['lost'] == 0
    elif form == 'text':
        assert int(seen[1]) == least and ('(nothing)' in done.stdout) == (least == 0)
    elif form == 'csv':
        rows = [line for line in done.stdout.splitlines() if line and not line.startswith('#')]
        assert len([row for row in rows if row.startswith('time,')]) == 2
        assert (len(rows) > 2) == (least > 0)
    elif form == 'folded':
        assert sum(int(line.rsplit(' ', 1)[1]) for line in done.stdout.splitlines()) == least
    else:
        assert done.stdout.startswith('<!doctype html>') \
            and done.stdout.rstrip().endswith('</html>')


def test_peak_memory_includes_the_drawing_of_files(tmp_path):
    """The first file has the peak before the page is drawn, stdout has it after that."""
    script, first = tmp_path / 'tasks.script', tmp_path / 'first.json'
    script.write_text('# attar script\nevent cpu-clock stack\n' + ''.join(
        f'1.{i:09d} 0 {i + 10}/{i + 10} task{i} cpu-clock stack=0xffffffff81000000\n'
        for i in range(9000)))
    done = run('profile', '-g', '--input', script, '-o', first, '-o', tmp_path / 'a.html',
               '--format', 'json')
    assert done.returncode == 0, done.stderr
    printed, filed = Profile(done.stdout).notes, Profile(first.read_text()).notes
    assert printed['self_rss'] > filed['self_rss'] > 1 << 20


NAME_BYTES, NAME = b'bad\xff\xe6\xbc', 'bad\ufffd\ufffd\ufffd'


def test_a_name_that_is_not_utf8_is_the_same_in_all_files(tmp_path):
    """Invalid bytes are U+FFFD, in the name of the thread and of the program's file."""
    program = os.fsencode(tmp_path) + b'/' + NAME_BYTES
    shutil.copy(workload('split7030'), program)
    names = 'json csv folded html pb.gz speedscope.json json.gz db prom om'
    files = {name: tmp_path / f'x.{name}' for name in names.split()}
    outputs = [word for file in files.values() for word in ('-o', file)]
    done = subprocess.run([ATTAR, 'profile', '-g', '-F', '99', *outputs, '--', program, '100'],
                          capture_output=True, check=True)
    assert b'bad\\xff\\xe6\\xbc' in done.stdout  # on the terminal
    for name, file in files.items():
        data = file.read_bytes()
        if name.endswith('.gz'):
            data = gzip.decompress(data)
        assert NAME.encode() in data, name
        assert NAME_BYTES not in data and b'\\xff' not in data, name
        if name != 'db' and name != 'pb.gz':
            data.decode()  # valid
