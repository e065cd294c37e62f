# SPDX-License-Identifier: MIT
"""Results of others that are made to be slow to compare."""
import json
import os

from command import run


def cpu_of_diff(path, columns, rows):
    """The CPU seconds that it takes to compare a table with itself, whose rows are equal."""
    section = {'name': 'counts', 'kind': 'table',
               'columns': [{'name': 'label', 'unit': 'text'},
                           *({'name': f'c{i}', 'unit': 'count'} for i in range(columns))],
               'rows': [['x', *[1] * columns]] * rows}
    path.write_text(json.dumps({'schema': 'attar/1', 'profiler': 'stat', 'time': 1,
                                'interval_ns': 1, 'sections': [section]}) + '\n')
    before = os.times()
    done = run('diff', path, path)
    after = os.times()
    assert done.returncode == 0, done.stderr
    return after.children_user + after.children_system - \
        before.children_user - before.children_system


def test_the_time_of_diff_is_proportional_to_the_size_of_a_table(tmp_path):
    narrow = cpu_of_diff(tmp_path / 'narrow.json', 100, 4000)
    wide = cpu_of_diff(tmp_path / 'wide.json', 800, 4000)
    assert wide < 16 * narrow, (narrow, wide)
