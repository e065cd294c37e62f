# SPDX-License-Identifier: MIT
"""Functions of a module that is loaded while events are pushed have names at the receivers."""
import json

import pytest

import guest
from command import ATTAR
from scripts import rows_of

# The receivers cannot read the names themselves. One is connected from the start, one since the
# module was loaded.
SCRIPT = '''
set -e
cd /tmp
mkfifo load run
here() {{ until eval "$1"; do sleep 0.1; done; }}
{attar} record -a -g -F 97 -e cpu-clock --push unix:/tmp/events -- sh -c '
    read x <load; insmod {module}; touch loaded
    read x <run; echo 1000 >/sys/module/turns/parameters/ms' >{folder}/pushed 2>&1 &
pull() {{
    unshare --mount sh -c 'mount --bind /dev/null /proc/kallsyms && exec "$@"' sh {attar} profile \
        -q -g --format json -e cpu-clock --pull unix:/tmp/events >{folder}/$1
}}
receivers() {{ grep -c ' /tmp/events$' /proc/net/unix; }}
pull first & first=$!
here '[ "$(receivers)" -ge 2 ]'
echo >load
here '[ -e loaded ]'
pull second & second=$!
here '[ "$(receivers)" -ge 3 ]'
echo >run
wait $first
wait $second
rmmod turns
'''


def spent(report):
    """The samples of the module's function."""
    tree = next(s for s in report['sections'] if s['kind'] == 'tree')
    nodes = rows_of(tree)
    return sum(n['self'] for n in nodes if (n['module'], n['name']) == ('[turns]', 'spend'))


@pytest.mark.guest('debian')
def test_a_module_that_is_loaded_later(tmp_path):
    module = guest.output_of('module', 'turns')
    done = guest.run('debian', 'sh', '-c', SCRIPT.format(folder=tmp_path, attar=ATTAR,
                                                         module=module))
    assert done.returncode == 0, done.stderr
    for name in 'first', 'second':
        report = json.loads((tmp_path / name).read_text().splitlines()[-1])
        assert spent(report) >= 20, name  # of about 97
        assert not any('could not be ordered' in remark for remark in report['remarks'])


# The initialization of the module takes 8 seconds, of which each second is a report.
SLOW = '''
cd /tmp
{attar} record -a -g -F 97 -e cpu-clock --push unix:/tmp/events -- \
    insmod {module} ms=8000 >{folder}/pushed 2>&1 &
until grep -q ' /tmp/events$' /proc/net/unix; do sleep 0.1; done
unshare --mount sh -c 'mount --bind /dev/null /proc/kallsyms && exec "$@"' sh {attar} profile \
    -q -g -i 1s --format json -e cpu-clock --pull unix:/tmp/events >{folder}/reports
wait
rmmod turns
'''


@pytest.mark.guest('debian')
def test_a_module_whose_initialization_is_slow(tmp_path):
    """Its functions have names while it is being initialized."""
    done = guest.run('debian', 'sh', '-c', SLOW.format(
        folder=tmp_path, attar=ATTAR, module=guest.output_of('module', 'turns')))
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in (tmp_path / 'reports').read_text().splitlines()]
    named = [spent(report) for report in reports]
    assert sum(n > 0 for n in named) >= 4, named
