# SPDX-License-Identifier: MIT
"""File rotation (--rotate-every) and its quota (--rotate-keep)."""
import gzip
import json
import os
import re
import subprocess
import time

import pytest

from command import ATTAR, run, wait_until, workload
from faults import environment, with_fault

# An hour in 50 ms.
FAST = {'clock': 72000}


def fast(*args):
    return with_fault('clock', *args, clock_start=int(time.time()), **FAST)


def reports(*paths):
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def test_every_interval_is_in_one_file(tmp_path):
    done = fast('stat', '-e', 'page-faults', '-i', '20ms', '-d', '1s', '--format', 'json',
                '-o', tmp_path / 'x-%Y%m%d-%H.json', '--rotate-every', '1h')
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.iterdir())
    assert len(files) > 3
    assert all(re.fullmatch(r'x-20\d{6}-[012]\d\.json', path.name) for path in files)
    printed = [json.loads(line)['time'] for line in done.stdout.splitlines()]
    assert [report['time'] for report in reports(*files)] == printed


def test_a_quota_deletes_the_oldest_of_this_name(tmp_path):
    """Including those of an earlier run, but no others; the newest ones remain."""
    old, other = tmp_path / 'x-20200101-00.json', tmp_path / 'x-20200101-0.json'
    own = tmp_path / 'xx-20200101-00.json'
    for path in (old, other, own):
        path.write_text('x' * 20000)
    done = fast('stat', '-e', 'page-faults', '-i', '20ms', '-d', '1s', '--format', 'json',
                '-o', tmp_path / 'x-%Y%m%d-%H.json', '--rotate-every', '1h', '--rotate-keep', '8K')
    assert done.returncode == 0, done.stderr
    assert not old.exists() and other.exists() and own.exists()
    files = sorted(path for path in tmp_path.glob('x-*.json') if path != other)
    printed = [json.loads(line)['time'] for line in done.stdout.splitlines()]
    kept = [report['time'] for report in reports(*files)]
    assert kept == printed[-len(kept):] and 0 < len(kept) < len(printed)
    assert sum(path.stat().st_size for path in files[:-1]) <= 8192


def test_a_file_larger_than_the_quota_is_begun_again(tmp_path):
    done = run('stat', '-e', 'page-faults', '-i', '20ms', '-d', '500ms', '-q',
               '-o', tmp_path / 'x-%Y.json', '--rotate-every', '9000h', '--rotate-keep', '1K')
    assert done.returncode == 0, done.stderr
    path, = tmp_path.iterdir()
    lines = path.read_text().splitlines()
    assert 0 < len(lines) and len('\n'.join(lines[:-1])) <= 1024


def test_formats_with_one_report_have_a_file_for_each(tmp_path):
    done = run('profile', '-g', '-F', 99, '-i', '1s', '-d', '3s', '-q',
               '-o', tmp_path / 'x-%M%S.pb.gz', '--rotate-every', '1s')
    assert done.returncode == 0, done.stderr
    files = list(tmp_path.iterdir())
    assert len(files) >= 2
    assert all(gzip.decompress(path.read_bytes()) for path in files)


def test_files_of_an_interval_have_the_time_of_its_begin(tmp_path):
    """In formats with one report as in those with several."""
    suffixes = '.pb.gz', '.csv', '.json'
    names = [word for suffix in suffixes for word in ('-o', tmp_path / f'x-%H%M%S{suffix}')]
    done = run('profile', '-F', 99, '-i', '1s', '-d', '4s', '-q', *names, '--rotate-every', '1s')
    assert done.returncode == 0, done.stderr
    times = [{path.name[:-len(suffix)] for path in tmp_path.glob(f'*{suffix}')}
             for suffix in suffixes]
    assert times[0] == times[1] == times[2] and len(times[0]) >= 3
    for path in sorted(tmp_path.glob('*.json'))[1:]:
        report, = reports(path)
        begun = (report['time'] - report['interval_ns']) // 10**9
        assert path.name == time.strftime('x-%H%M%S.json', time.gmtime(begun))


def test_lines_wait_for_a_disk_that_stalls(root, tmp_path, spawn):
    """Files follow each other meanwhile, and nothing is lost. The lines of these seconds are fewer
    than those that wait for a file before the rings are left unread.
    """
    go, out, over = (tmp_path / name for name in ('go', 'out', 'over'))
    os.mkfifo(go)
    out.mkdir()
    calls = f'''n=0
        until [ $(ls {out} | wc -l) -ge 3 ] || [ $n -ge 600 ]; do
            {workload("flood")} 100 >/dev/null; n=$((n + 1)); sleep 0.02
        done
        echo $n >{over}.new; mv {over}.new {over}'''
    attar = spawn(ATTAR, 'trace', '-q', '--buffer', '256M', '-i', '1s', '--rotate-every', '1s',
                  '--rotate-keep', '1G', '-e', 'syscalls:sys_enter_getppid/comm=="flood"/',
                  '-o', out / 'x-%M%S.csv', '--', 'sh', '-c', calls,
                  env=environment('calls', disk=go), stderr=subprocess.PIPE, text=True)
    wait_until(over.exists, 'there are three files')
    files = list(out.iterdir())
    assert len(files) >= 3 and not any(path.stat().st_size for path in files)
    go.write_text('go\n')
    errors = attar.communicate(timeout=60)[1]
    assert (attar.returncode, errors) == (0, '')
    lines = [path.read_text().count(',flood,') for path in out.iterdir()]
    assert sum(lines) == int(over.read_text()) * 100
    assert sum(n > 0 for n in lines) >= 3


def test_a_name_with_a_time_without_rotation_is_remarked(tmp_path):
    done = run('stat', '-e', 'page-faults', '-d', '100ms', '-q', '-o', 'x-%S.json', cwd=tmp_path)
    assert done.returncode == 0
    assert ("'x-%S.json' is used unchanged as the name of the file: add --rotate-every TIME to "
            'replace %Y, %m and so on by the time') in done.stderr
    assert (tmp_path / 'x-%S.json').exists()


def test_a_file_that_exists_is_kept(tmp_path):
    """From an earlier run, or from this one before the clock was set back; a link is not followed.
    """
    year = time.gmtime().tm_year
    target = tmp_path / 'target'
    target.write_text('before')
    for y in (year, year + 1):
        (tmp_path / f'x-{y}.json').symlink_to(target)
        (tmp_path / f'x-{y}.1.json').write_text('before')
    done = run('stat', '-e', 'page-faults', '-i', '50ms', '-d', '300ms', '-q',
               '-o', tmp_path / 'x-%Y.json', '--rotate-every', '9000h')
    assert done.returncode == 0, done.stderr
    assert target.read_text() == 'before'
    assert (tmp_path / f'x-{year}.1.json').read_text() == 'before'
    new, = tmp_path.glob('x-*.2.json')
    assert reports(new)


def test_a_full_disk_leaves_no_empty_files(root, tmp_path):
    """The agent restarts a profiler repeatedly, and each start would leave a file."""
    run_twice = f'{ATTAR} stat -e page-faults -i 50ms -d 300ms -q --rotate-every 9000h ' \
        f'-o {tmp_path}/x-%Y.json; ' * 2
    script = f'mount -t tmpfs -o size=16k none {tmp_path} && ' \
        f'head -c 16384 /dev/zero >{tmp_path}/full && {run_twice} ls {tmp_path}'
    done = subprocess.run(['unshare', '-m', 'sh', '-c', script], capture_output=True, text=True)
    assert done.stderr.count('No space left on device') == 2, done.stderr
    assert done.stdout == 'full\n'


@pytest.mark.quick
@pytest.mark.parametrize('words, message', [
    (['-o', 'x-%H.json', '-o', 'x-%H.json', '--rotate-every', '1h', '-i', '1s'],
     "'x-%H.json' is specified by two options"),
    (['--rotate-every', '1h', '-i', '1s'], 'requires files: add -o'),
    (['-o', 'x.json', '--rotate-every', '1h', '-i', '1s'], 'has the same name for the next file'),
    (['-o', 'x-%Y.json', '--rotate-every', '1h', '-i', '1s'],
     'has the same name for the next file'),
    (['-o', 'x-%q.json', '--rotate-every', '1h', '-i', '1s'], 'names can contain %Y'),
    (['-o', 'x-%', '--rotate-every', '1h', '-i', '1s'], "names can contain %Y"),
    (['-o', '%H/x.json', '--rotate-every', '1h', '-i', '1s'], 'only the file name'),
    (['-o', 'x-%H.html', '--rotate-every', '1h', '-i', '1s'], 'use the same time for -i'),
    (['-o', 'x-%H.json', '--rotate-every', '1h'], 'add -i'),
    (['-o', 'x-%H.json', '--rotate-keep', '1M', '-i', '1s'],
     '--rotate-keep requires --rotate-every'),
])
def test_refusals(tmp_path, words, message):
    done = run('stat', '-d', '100ms', *words, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
