# SPDX-License-Identifier: MIT
"""The Markdown pages: tables are complete, and links lead to pages and headings that exist."""
import re

import pytest

from command import ROOT, run

pytestmark = pytest.mark.quick

PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]


def anchors(page):
    """The names that GitHub gives to headings."""
    headings = re.findall(r'^#+ (.*)$', page.read_text(), re.M)
    return {re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-') for heading in headings}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_rows_of_a_table_have_equal_numbers_of_cells(page):
    """A | separates cells in code, too."""
    wanted = None
    for line in page.read_text().splitlines():
        cells = len(re.findall(r'(?<!\\)\|', line)) if line.startswith('|') else None
        assert cells == wanted or None in (cells, wanted), line
        wanted = cells


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r'\]\(([^)\s]+)\)', page.read_text()):
        name, _, anchor = link.partition('#')
        target = (page.parent / name).resolve() if name else page
        if '://' in link:
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_lists_each_page():
    readme = (ROOT / 'README.md').read_text()
    assert not [page.name for page in (ROOT / 'docs').glob('*.md')
                if f'](docs/{page.name})' not in readme]


@pytest.mark.parametrize('name', ['design', 'decisions', 'writing-a-profiler'])
def test_files_and_functions_of_the_design_exist(name):
    text = (ROOT / f'docs/{name}.md').read_text()
    folders = [ROOT, ROOT / 'src', ROOT / 'include', ROOT / 'src/private', ROOT / 'python']
    files = {file for file in re.findall(r'`((?:[\w.-]+/)+[\w.*-]+\.(?:[ch]|py|preset))`', text)
             if 'NAME' not in file}
    assert len(files) > 3
    assert not [file for file in sorted(files)
                if not any(any(folder.glob(file)) for folder in folders)]
    paths = [path for folder in ('src', 'include', 'perfume', 'python')
             for path in (ROOT / folder).rglob('*.[ch]')]
    names = {path.name for path in paths} | {'NAME.c'}
    assert not [file for file in re.findall(r'(?<![\w/.*-])\w+\.[ch]\b', text) if file not in names]
    sources = ''.join(path.read_text() for path in paths)
    functions = set(re.findall(r'`(\w+)\(\)`', text))
    assert len(functions) > 3
    assert not [one for one in sorted(functions) if not re.search(rf'\b{one}\)?\(', sources)]


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_commands_can_be_copied(page):
    """What explains a command is a comment of the shell."""
    lines = re.findall(r'(?m)^    ((?:attar|make|meson|ninja|tests/run|bench/run)\b.*)$',
                       page.read_text())
    assert not [line for line in lines if re.search(r'\S  +[^# ]', re.sub(r"'[^']*'", 'x', line))]


def prose(path):
    """The lines of a page without code, or the comments and strings of a source."""
    text = path.read_text()
    if path.name == 'terms.md':
        return ''
    if path.suffix == '.md':
        return re.sub(r'```.*?```|^    .*?$|`[^`]*`', '', text, flags=re.S | re.M)
    return '\n'.join(re.findall(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', text, re.S))


def test_one_term_for_each_thing():
    table = (ROOT / 'docs/terms.md').read_text().split('| term |')[1].split('\n\n')[0]
    words = [word.strip() for row in table.splitlines()[2:]
             for word in row.split('|')[3].split(',') if word.strip()]
    assert 'vCPU' in words and 'build id' in words
    wrong = re.compile(r'(?<![\w./%>-])(' + '|'.join(words).replace(' ', r'\s+') + r')s?(?![\w=-])')
    sources = [path for folder in ('src', 'include', 'kperf', 'perfume')
               for path in sorted((ROOT / folder).rglob('*.[ch]'))]
    assert len(sources) > 500
    assert not [(str(path), found[0]) for path in PAGES + sources
                for found in wrong.finditer(prose(path))]


def test_each_modifier_is_described():
    error = run('stat', '-e', 'faults:z').stderr
    letters = re.search(r"'z' is not a modifier: use one of (\w+) ", error)
    table = (ROOT / 'docs/events.md').read_text().split('| modifier |')[1].split('\n\n')[0]
    assert len(letters[1]) > 10
    assert set(re.findall(r'`:(\w)', table)) == set(letters[1])


def test_each_metric_of_the_agent_is_described():
    names = re.findall(r'attar_agent_\w+', (ROOT / 'src/cli/agent/metrics.c').read_text())
    page = (ROOT / 'docs/agent.md').read_text()
    assert len(set(names)) > 10
    assert not [name for name in names if f'`{name}`' not in page
                and f'`{name.removeprefix("attar_agent_profiler")}`' not in page]
