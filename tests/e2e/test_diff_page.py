# SPDX-License-Identifier: MIT
"""The red and blue flame graph of attar diff in a browser."""
import json

from browser import Page, browser, needs_browser  # noqa: F401
from command import run

pytestmark = needs_browser


def tree(path, pid, weights):
    columns = [{'name': n, 'unit': u} for n, u in (
        ('parent', 'id'), ('kind', 'text'), ('name', 'text'), ('module', 'text'),
        ('self', 'count'), ('total', 'count'), ('pid', 'id'), ('tid', 'id'))]
    whole = sum(weights.values())
    rows = [[-1, 'task', 'x', None, 0, whole, pid, pid],
            *([0, 'user', name, '/bin/x', n, n, None, None] for name, n in weights.items())]
    path.write_text(json.dumps({
        'schema': 'attar/1', 'profiler': 'profile', 'time': 1, 'interval_ns': 1, 'notes': None,
        'sections': [{'name': 'stacks', 'kind': 'tree', 'columns': columns, 'rows': rows}]}))
    return path


def test_red_has_grown_and_blue_has_shrunk(browser, tmp_path):  # noqa: F811
    """The pids of both sides differ; a function that no longer exists is not drawn."""
    before = tree(tmp_path / 'a.json', 7, {'grown': 200, 'shrunk': 600, 'same': 100, 'gone': 100})
    after = tree(tmp_path / 'b.json', 8, {'grown': 1200, 'shrunk': 500, 'same': 200, 'new': 100})
    done = run('diff', '-o', tmp_path / 'x.html', before, after)
    assert done.returncode == 0, done.stderr
    page = Page(browser, tmp_path / 'x.html')
    red, green, blue = page.colour('grown')
    assert red > blue + 40
    assert page.colour('new')[0] > page.colour('new')[2] + 40
    red, green, blue = page.colour('shrunk')
    assert blue > red + 40
    assert len(set(page.colour('same'))) == 1 and not page.rect('gone')
    assert page.js('return [...document.querySelectorAll("#legend li")].map(i => i.textContent)') \
        == ['more than before', 'less']
    page.quiet()
