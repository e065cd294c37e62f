# SPDX-License-Identifier: MIT
"""attar sql: random queries have the results that SQLite has for the same rows."""
import collections
import contextlib
import itertools
import json
import os
import random
import sqlite3

import pytest

from command import BUILD, run

pytestmark = pytest.mark.skipif(
    'sql_db.c' not in (BUILD / 'build.ninja').read_text(), reason='attar is built without SQLite')

SEED = int(os.environ.get('ATTAR_SQL_SEED', 1))
QUERIES = 2000
TABLES = 100  # each query has a table, and so a filter, of its own: these are read by one process
ROWS = 80

# Name, type in the script, type in SQL, values.
FIELDS = (
    ('k', 'u8', 'INTEGER', (0, 1, 2, 3)),
    ('a', 's32', 'INTEGER', (-2147483648, -7, -1, 0, 1, 5, 6, 100, 2147483647)),
    ('b', 'u32', 'INTEGER', (0, 1, 5, 7, 4294967295)),
    ('c', 's8', 'INTEGER', (-128, -1, 0, 3, 5, 127)),
    ('u', 'u16', 'INTEGER', (0, 1, 5, 65535)),
    ('big', 's64', 'INTEGER', (-2 ** 63, -5, 0, 5, 2 ** 53, 2 ** 53 + 1, 2 ** 63 - 1)),
    ('huge', 'u64', 'INTEGER', (0, 5, 2 ** 53 + 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 5, 2 ** 64 - 1)),
    ('s', 'char[8]', 'TEXT', ('', 'a', 'A', 'ab', "it's", '5', '-1', 'x*y', 'exactly8')),
    ('t', 'string', 'TEXT', ('', 'a', 'abc', 'aBc', '5', '5.0', '007', '100%', 'b_c', 'é', '[x]')),
    ('pid', 's32', 'INTEGER', (-1, 1, 2, 5)),  # the process is _pid
    ('d', 's32', 'INTEGER', None),  # depend on k: they can be read in its groups
    ('dt', 'string', 'TEXT', None),
)
COMMON = (('cpu', 'INTEGER'), ('_pid', 'INTEGER'), ('tid', 'INTEGER'), ('comm', 'TEXT'),
          ('period', 'INTEGER'))
NUMBERS = [name for name, _, kind, _ in FIELDS if kind == 'INTEGER'] + [
    name for name, kind in COMMON if kind == 'INTEGER']
TEXTS = [name for name, _, kind, _ in FIELDS if kind == 'TEXT'] + ['comm']
SMALL = ['k', 'a', 'b', 'c', 'u', 'pid', 'd', 'cpu', '_pid', 'tid', 'period']
COLUMNS = NUMBERS + TEXTS
DEPENDENT = ['d', 'dt']

INTEGERS = sorted({str(v) for _, _, kind, values in FIELDS if kind == 'INTEGER' and values
                   for v in values if v < 2 ** 63}) + [
    '0x5', '0xffffffffffffffff', '0x8000000000000000', '0x7fffffffffffffff', '0xfffffffffffffffb',
    '-0x1', '0x00000000000000000005', '000000000000000000000005', '-9223372036854775808',
    '9223372036854775808', '18446744073709551615', '-5', '- 1', '256', '65536', '4294967296']
OTHERS = ['5.0', '4.5', '1e0', '-0.5', '1e300', "'5'", "'5.0'", "'abc'", "' 5'", "'0x5'", 'NULL',
          '5 + 0', '(5)', 'TRUE', "x'35'"]
WORDS = sorted({v for _, _, kind, values in FIELDS if kind == 'TEXT' and values for v in values}) \
    + ['sh', 'none', 'exactly', 'exactly89', 'a"b', 'a\\b']
PATTERNS = ['%', 'a%', '%B%', '_', 'a_c', '5%', '%5', '', 'É', '100\\%', '[x]', 'A%C', '%*%']
GLOBS = ['*', 'a*', '*B*', '?', 'a?c', '[a-b]*', '', 'x[*]y', '5*', '*%', '[[]x]']
COMPARISONS = ['=', '==', '!=', '<>', '<', '<=', '>', '>=', 'IS', 'IS NOT']


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Query:
    """A random statement on one table, and what its order is."""

    def __init__(self, rng, table):
        self.rng, self.table = rng, table
        self.plain = self.chance(0.6)  # with more of what attar does itself
        self.items = []  # (expression, name or None)
        self.order = []  # (text, expression that has the same value, direction)
        self.limit = self.offset = None
        self.distinct = False
        self.keys, self.group, self.having = [], [], ''
        self.where = f' WHERE {self.condition(3)}' if self.chance(0.7) else ''
        rng.choice([self.make_rows, self.make_groups, self.make_groups, self.make_total,
                    self.make_other])()
        self.make_order()
        if self.chance(0.3):
            self.limit = rng.randrange(6)
            self.offset = rng.randrange(4) if self.chance(0.4) else None

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *choices):
        return self.rng.choice(choices)

    # ---- conditions ----

    def number(self):
        return self.rng.choice(INTEGERS if self.plain or self.chance(0.8) else OTHERS)

    def word(self):
        good = self.plain or self.chance(0.85)
        return quoted(self.rng.choice(WORDS)) if good else self.number()

    def comparison(self):
        is_number = self.chance(0.6)
        column = self.rng.choice(NUMBERS if is_number else TEXTS)
        constant = self.number if is_number else self.word
        if self.plain:
            column = self.pick('k', 'a', 'b', 'c', 'u', 'big', 'huge') if is_number else 's'
            if self.chance(0.6):
                way = self.pick('=', '=', '!=', *(('<', '<=', '>', '>=') if is_number else ()))
                return f'{column} {way} {constant()}'
        way, inverse = self.rng.random(), self.pick('', '', 'NOT ')
        if way < 0.45:
            return f'{column} {self.rng.choice(COMPARISONS)} {constant()}'
        if way < 0.5:
            return f'{constant()} {self.rng.choice(COMPARISONS)} {column}'
        if way < 0.6:
            return f'{column} {inverse}BETWEEN {constant()} AND {constant()}'
        if way < 0.75:
            values = ', '.join(constant() for _ in range(self.rng.randrange(5)))
            return f'{column} {inverse}IN ({values})'
        if way < 0.85:
            like = self.pick(*PATTERNS) if self.chance(0.8) else self.pick(*WORDS)
            escape = self.pick('', '', '', " ESCAPE '\\'")
            return f'{column} {inverse}LIKE {quoted(like)}{escape}'
        if way < 0.92:
            return f'{column} {inverse}GLOB {quoted(self.pick(*GLOBS))}'
        if way < 0.95:
            null = self.pick('ISNULL', 'NOTNULL', 'IS NULL', 'IS NOT NULL', 'NOT NULL')
            return f'{column} {null}'
        return self.pick(f'{column} = {self.pick(*COLUMNS)}', f'{column} + 1 > {constant()}',
                         f'{column}', f'CASE WHEN {column} = {constant()} THEN 1 END',
                         f'{column} = {constant()} = 1', f'-{column} < {constant()}',
                         f'{column} = {constant()} COLLATE NOCASE', f'{column} & 5 = 5',
                         f'{column} IN (SELECT k FROM {self.table})')

    def condition(self, depth):
        if depth == 0 or self.chance(0.6 if self.plain else 0.4):
            return self.comparison()
        one, other = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f'{one} AND {other}', f'{one} OR {other}', f'({one} OR {other})',
                         f'NOT ({one} AND {other})', f'NOT ({one} OR {other})', f'NOT {one}',
                         f'({one}) AND {other}', f'NOT NOT {one}', f'{one} and not {other}')

    # ---- kinds of statements ----

    def name(self):
        """A name for an item: a new one, or that of a column."""
        used = {name for _, name in self.items}
        names = [f'n{len(self.items)}', *self.rng.sample(COLUMNS, 2), None, None]
        return self.pick(*[name for name in names if name is None or name not in used])

    def add(self, expression):
        self.items.append((expression, self.name()))

    def scalar(self, columns):
        """An expression of columns whose values all have the same type."""
        column = self.pick(*columns)
        if column in TEXTS:
            return self.pick(column, f'upper({column})', f"{column} || '!'", f'length({column})',
                             f"nullif({column}, 'a')", f"coalesce(nullif({column}, ''), '-')",
                             f"CASE WHEN {column} = 'a' THEN 'one' ELSE {column} END")
        return self.pick(column, f'{column} + 1', f'-{column}', f'{column} % 3', f'{column} / 2',
                         f'nullif({column}, 5)', f'{column} > 1', f'{column} IS NULL',
                         f'{column} IN (1, 5)', f'CASE {column} WHEN 5 THEN 1 ELSE 0 END',
                         f"printf('%d', {column})", f'CAST({column} AS TEXT)', f'~{column}',
                         f'iif({column} > 1, 1, NULL)', f'round({column} / 4.0, 1)')

    def aggregate(self):
        small, column = self.pick(*SMALL), self.pick(*COLUMNS)
        number = self.pick(*NUMBERS)
        call = self.pick('count(*)', 'COUNT ( * )', f'count({column})', f'sum({small})',
                         f'avg({number})', f'total({number})', f'min({number})', f'max({number})',
                         f'avg({small})', f'max({number if self.plain else column})')
        if not self.plain and self.chance(0.3):
            call = self.pick(f'count(DISTINCT {column})', f'sum({small} + 1)',
                             f'count(*) FILTER (WHERE {small} > 0)', f'min({self.pick(*TEXTS)})')
        return call

    def calculated(self):
        call = self.aggregate()
        if '(s)' in call or '(t)' in call or '(comm)' in call or '(dt)' in call:
            return call
        return self.pick(call, call, f'{call} + 1', f'-{call}', f'{call} > 1', f'({call})',
                         f'nullif({call}, 1)', f'round({call}, 2)', f'printf(\'%s\', {call})',
                         f'coalesce({call}, 0)', f'CASE WHEN {call} > 2 THEN 1 ELSE 0 END',
                         f'CAST({call} AS TEXT)', f"{call} = '5'", f"{call} IN ('5', 1)")

    def make_rows(self):
        self.distinct = self.chance(0.25)
        for _ in range(self.rng.randint(1, 4)):
            self.add(self.scalar(COLUMNS))

    def make_groups(self):
        if self.chance(0.5):
            self.keys = ['k'] + self.rng.sample(sorted(set(COLUMNS) - {'k'}), self.pick(0, 0, 1))
        else:
            self.keys = self.rng.sample(COLUMNS, self.rng.randint(1, 5))
        self.known = self.keys + (DEPENDENT if 'k' in self.keys else [])
        for key in self.keys:
            if self.chance(0.7):
                self.add(key)
        for _ in range(self.rng.randint(1, 3)):
            known = self.keys if self.plain else self.known
            self.add(self.calculated() if self.chance(0.8) else self.scalar(known))
        for key in self.keys:
            terms = [key, key, key]
            for i, (expression, name) in enumerate(self.items):
                if expression == key:
                    terms += [str(i + 1)]
                    if name and name not in COLUMNS:
                        terms += [name]
            self.group.append(self.pick(*terms))
        self.rng.shuffle(self.group)
        self.distinct = self.chance(0.05)
        if self.chance(0.4):
            self.having = f' HAVING {self.having_condition()}'

    def having_condition(self):
        names = [name for expression, name in self.items if name and (
            name not in COLUMNS or name in self.known)]
        operand = self.pick(self.aggregate(), self.pick(*self.known), *names, *names)
        return self.pick(f'{operand} {self.pick(*COMPARISONS)} {self.number()}',
                         f'{operand} IN (1, 2, 5, {self.number()})', f'{operand} IS NOT NULL',
                         f'{operand} = {self.aggregate()}', f'{operand}',
                         f'{operand} > 1 AND count(*) > 1', f'NOT {operand} BETWEEN 1 AND 5')

    def make_total(self):
        for _ in range(self.rng.randint(1, 3)):
            self.add(self.calculated())

    def make_other(self):
        """What is not computed while events arrive."""
        way = self.rng.randrange(3)
        if way == 0:
            expression = self.scalar(COLUMNS)
            self.add(expression)
            self.add(self.calculated())
            self.group = [expression if not expression.isdigit() else 'k']
            self.keys = []
            if expression in COLUMNS:
                self.group = [f'{expression} || 0']
                self.items[0] = (f'{expression} || 0', self.items[0][1])
        elif way == 1:
            self.add(f'(SELECT count(*) FROM {self.table} WHERE {self.condition(1)})')
            self.add(self.scalar(COLUMNS))
        else:
            self.add(f'EXISTS (SELECT 1 FROM {self.table} o WHERE o.k = {self.table}.a'
                     f' AND {self.table}.{self.pick(*NUMBERS)} > {self.number()})')
            self.add(self.pick(*NUMBERS))

    # ---- order ----

    def make_order(self):
        if not self.chance(0.6):
            return
        for _ in range(self.pick(1, 1, 2, 3)):
            i = self.rng.randrange(len(self.items))
            expression, name = self.items[i]
            terms = [(str(i + 1), expression)]
            if name:
                terms += [(name, expression)] * 2
            if name and name not in COLUMNS:
                terms += [(f'-{name}', f'-({expression})'), (f'{name} > 1', f'({expression}) > 1')]
            elif name and (not self.group or name in getattr(self, 'known', ())) and \
                    not self.distinct and not self.is_one_row():
                terms += [(f'-{name}', f'-{name}')] * 2  # the column
            if expression not in [n for _, n in self.items]:
                terms += [(f'({expression})', expression)]
            if self.keys and not self.distinct:
                key = self.pick(*self.known)
                terms += [(f'{key} + 0', f'{key} + 0'), (self.aggregate(),) * 2]
            text, same = self.pick(*terms)
            self.order.append((text, same, self.pick('', '', ' ASC', ' DESC', ' DESC',
                                                     ' NULLS LAST', ' DESC NULLS FIRST')))

    def is_one_row(self):
        return not self.group and any('(' in e and any(f in e.lower() for f in (
            'count', 'sum(', 'avg(', 'total(', 'min(', 'max(')) for e, _ in self.items)

    # ---- texts ----

    def text(self, keyed=False):
        """The statement; keyed: without LIMIT, and with the values of ORDER BY."""
        items = [e if not n else f'{e} AS {n}' for e, n in self.items]
        if keyed:
            items += [same for _, same, _ in self.order]
        text = f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(items)} FROM {self.table}"
        text += self.where
        if self.group:
            text += f" GROUP BY {', '.join(self.group)}{self.having}"
        if self.order:
            text += ' ORDER BY ' + ', '.join(term + way for term, _, way in self.order)
        if self.limit is not None and not keyed:
            text += f' LIMIT {self.limit}'
            if self.offset is not None:
                text += f' OFFSET {self.offset}'
        return text


def events(rng):
    """Rows as dictionaries, in the order of their times."""
    rows = []
    for i in range(ROWS):
        row = {name: rng.choice(values) for name, _, _, values in FIELDS if values}
        row['d'], row['dt'] = (row['k'] * 7) % 5 - 2, 'xyx'[row['k'] % 3] + str(row['k'])
        pid, tid = rng.choice(((1, 1), (5, 5), (100, 101), (100, 102), (None, None)))
        row.update(time=10 ** 9 + i * 1000, cpu=rng.randrange(3), tid=tid, _pid=pid,
                   comm=rng.choice(('sh', 'a', '5', 'Ab')), period=rng.choice((1, 1, 5, 2 ** 40)))
        rows.append(row)
    return rows


def script(rows):
    text = '# attar script\nevent t:e ' + ' '.join(f'{n}:{kind}' for n, kind, _, _ in FIELDS) + '\n'
    for row in rows:
        pid, tid = (-1 if row[n] is None else row[n] for n in ('_pid', 'tid'))
        values = ' '.join(f'{n}="{row[n]}"' for n, _, _, _ in FIELDS)
        text += (f'{row["time"] // 10 ** 9}.{row["time"] % 10 ** 9:09d} {row["cpu"]} {pid}/{tid}'
                 f' {row["comm"]} t:e period={row["period"]} {values}\n')
    return text


def database(rows, tables):
    """SQLite's own tables of these rows."""
    db = sqlite3.connect(':memory:')
    columns = {**{name: kind for name, kind in COMMON}, **{n: kind for n, _, kind, _ in FIELDS}}
    signed = [[v - 2 ** 64 if isinstance(v := row[n], int) and v >= 2 ** 63 else v
               for n in columns] for row in rows]
    for table in tables:
        declared = ', '.join(f'"{name}" {kind}' for name, kind in columns.items())
        db.execute(f'CREATE TABLE {table} ({declared})')
        db.executemany(f'INSERT INTO {table} VALUES ({", ".join("?" * len(columns))})', signed)
    return db


def differs(found, query, db):
    """Why the rows are not SQLite's; None: they are. Rows of equal keys have any order."""
    whole = [tuple(row) for row in db.execute(query.text(keyed=True))]
    plain = db.execute(query.text()).fetchall()
    n = len(query.items)
    start = query.offset or 0
    end = len(whole) if query.limit is None else min(len(whole), start + query.limit)
    expected_count = max(0, end - start)
    for rows, who in (plain, 'the oracle'), (found, 'attar'):
        if len(rows) != expected_count:
            return f'{who} has {len(rows)} rows of {expected_count}'
        at = 0
        for _, group in itertools.groupby(whole, key=lambda row: row[n:]):
            group = [row[:n] for row in group]
            low, high = max(start, at), min(end, at + len(group))
            at += len(group)
            if low < high:
                mine = collections.Counter(map(tuple, rows[low - start:high - start]))
                if mine - collections.Counter(group):
                    return f'{who} has {sorted(map(str, rows))} not {sorted(map(str, whole))}'
    return None


def answers(path, queries):
    """The rows of each query; how many tables were filtered, and how many groups computed early."""
    aliases = ','.join(f't:e//alias={query.table}/' for query in queries)
    words = [word for query in queries for word in ('--query', query.text())]
    ended = run('sql', '--input', path, '-e', aliases, '--format', 'json', '--explain', *words)
    assert ended.returncode == 0, ended.stderr
    sections = json.loads(ended.stdout)['sections']
    tables = {s['name']: s['rows'] for s in sections}
    filtered = sum(by == 'attar' for _, by, _ in tables['events'])
    early = sum('computed while events arrive' in str(rows) for name, rows in tables.items()
                if name.startswith('plan '))
    return [tables[f'query {i + 1}'] for i in range(len(queries))], filtered, early


@pytest.mark.parametrize('part', range(4))
def test_results_are_those_of_sqlite(tmp_path, part):
    rng = random.Random(SEED * 1000 + part)
    rows = events(rng)
    path = tmp_path / 'events.script'
    path.write_text(script(rows))
    names = [f'e{i}' for i in range(TABLES)]
    db = database(rows, names)
    wrong, done, filtered, early = [], 0, 0, 0
    while done < QUERIES // 4:
        queries = []
        for name in names:
            while True:
                query = Query(rng, name)
                try:
                    db.execute(query.text(keyed=True)).fetchall()
                    db.execute(query.text()).fetchall()
                    break
                except sqlite3.Error:  # an overflow, or a mixture that SQLite refuses
                    pass
            queries.append(query)
        results, n_filtered, n_early = answers(path, queries)
        filtered, early = filtered + n_filtered, early + n_early
        for query, found in zip(queries, results):
            why = differs(found, query, db)
            if why:
                wrong.append(f'{query.text()}\n    {why}')
        done += len(queries)
    assert not wrong, f'{len(wrong)} of {done} differ:\n' + '\n'.join(wrong[:10])
    assert filtered > 50 and early > 40  # attar itself did enough of them


# Joins and subqueries of the tables e0 and e1; {a} and {b} are columns, or values.
JOINS = (
    'SELECT e0.k, e1.k FROM e0 JOIN e1 ON e0.{a} = e1.{b}',
    'SELECT e0.k, e1.k FROM e0, e1 WHERE e0.{a} = e1.{b} AND e1.{c} = e0.{d} AND e0.a > 0',
    'SELECT e0.k, e1.a, e1.t FROM e0 LEFT JOIN e1 ON e0.{a} = e1.{b} AND e1.k > 1',
    'SELECT e0.k, e1.a FROM e0 LEFT JOIN e1 ON e1.{b} = e0.{a} WHERE e1.k IS NULL',
    'SELECT k FROM e0 WHERE EXISTS (SELECT 1 FROM e1 WHERE e1.{b} = e0.{a} AND e1.u != 5)',
    'SELECT k, (SELECT count(*) FROM e1 WHERE e1.{b} = e0.{a} AND e1.{c} = e0.{c}) FROM e0',
    'SELECT k, (SELECT min(a) FROM e1 WHERE e1.{b} = e0.{a} + 1) FROM e0',
    'SELECT k FROM e0 WHERE {a} IN (SELECT {b} FROM e1 WHERE e1.k = 2)',
    'SELECT e0.k, count(*), sum(e1.a) FROM e0 JOIN e1 USING ({a}) GROUP BY e0.k, e1.{d}',
    'SELECT x.k, y.k FROM e0 x JOIN e0 y ON x.{a} = y.{b} JOIN e1 ON e1.{c} = y.{d}',
    'SELECT e0.k, e1.k FROM e0 JOIN e1 ON e0.{a} || e0.k = e1.{b}',
    'SELECT e0.k, e1.k FROM e0 JOIN e1 ON e0.{a} * 1.0 = e1.{b}',
    'SELECT e0.k, e1.k FROM e0 JOIN e1 ON e1.{b} = nullif(e0.{a}, 5)',
    'SELECT e0.k, e1.k FROM e1 LEFT JOIN e0 ON e0.t = e1.t COLLATE NOCASE',
    'SELECT e0.k, e1.k FROM e0 JOIN e1 ON e0.{a} IS e1.{b} AND e0.{c} = e1.{c} COLLATE NOCASE',
)


def test_joins_are_those_of_sqlite(tmp_path):
    rng = random.Random(SEED * 1000 + 77)
    rows = events(rng)
    path = tmp_path / 'events.script'
    path.write_text(script(rows))
    db = database(rows, ['e0', 'e1'])
    queries = []
    for join in JOINS * 8:
        names = [rng.choice(COLUMNS) for _ in 'abcd']
        if rng.random() < .6:  # columns of one type
            names[1] = rng.choice(NUMBERS if names[0] in NUMBERS else TEXTS)
        queries.append(join.format(**dict(zip('abcd', names))))
    words = [word for query in queries for word in ('--query', query)]
    ended = run('sql', '--input', path, '-e', 't:e//alias=e0/,t:e//alias=e1/', '--format', 'json',
                '--explain', *words)
    assert ended.returncode == 0, ended.stderr
    sections = {s['name']: s['rows'] for s in json.loads(ended.stdout)['sections']}
    found_by = sum('looks up' in str(sections[f'plan of query {i + 1}'])
                   for i in range(len(queries)))
    wrong = []
    for i, query in enumerate(queries):
        expected = collections.Counter(map(tuple, db.execute(query)))
        if collections.Counter(map(tuple, sections[f'query {i + 1}'])) != expected:
            wrong.append(query)
    assert not wrong
    assert found_by > len(queries) / 2


def test_joins_of_many_rows_end(tmp_path):
    """To compare each row with each would take minutes."""
    n = 20000
    path = tmp_path / 'many.script'
    path.write_text('# attar script\nevent k:a ptr:u64\nevent k:f ptr:u64\n' + ''.join(
        f'1.{i:09d} 0 7/7 x k:{"af"[i % 2]} ptr={(i // 2) ** 2 * 64}\n'
        for i in range(2 * n) if i % 5 != 3))
    text = ('SELECT count(*), count(f.ptr) FROM a LEFT JOIN f ON a.ptr = f.ptr AND '
            'f.time > a.time; SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM f WHERE '
            'f.ptr = a.ptr)')
    ended = run('sql', '--input', path, '--format', 'json', '--query', text)
    assert ended.returncode == 0, ended.stderr
    kept = {i % 2: [j // 2 for j in range(2 * n) if j % 5 != 3 and j % 2 == i % 2] for i in (0, 1)}
    pairs = len(set(kept[0]) & set(kept[1]))
    first, second = json.loads(ended.stdout)['sections']
    assert first['rows'] == [[len(kept[0]), pairs]] and second['rows'] == [[pairs]]


# Queries that compare times of the tables a and f, and what the plan says of the times.
TIMES = (
    ('SELECT count(*), sum(f.n = a.n) FROM a JOIN f ON f._time = (SELECT min(x._time) FROM f x '
     'WHERE x._time > a._time AND x._tid = a._tid)',
     ('looks up _time; ', 'looks up _tid; times from; in order of time; ')),
    ('SELECT count(*), sum(f.n = a.n) FROM a JOIN f ON f.time = (SELECT max(time) FROM f x '
     'WHERE time <= a.time)', ('looks up time; ', 'times up to; in order of time DESC; ')),
    ('SELECT count(*), count(f.n) FROM a LEFT JOIN f ON f._time BETWEEN a._time AND a._time + 3 '
     'AND f.tid = a.tid', ('looks up tid; times from and up to; ',)),
    ('SELECT count(*) FROM a LEFT JOIN f ON f.time > a.time AND f.time < a.time + 2 '
     'WHERE f.time IS NULL', ('times from and up to; ',)),
    ('SELECT count(*) FROM a, f WHERE f.time < a.time - 0.5 AND f.time > a.time - 3.5',
     ('times from and up to; ',)),
    ('SELECT a.n, (SELECT f.n FROM f WHERE f.time > a.time ORDER BY f.time LIMIT 1) AS next, '
     '(SELECT f.n FROM f WHERE f.time < a.time ORDER BY f.time DESC LIMIT 1) AS last FROM a '
     'ORDER BY a.n DESC LIMIT 9',
     ('times from; in order of time; ', 'times up to; in order of time DESC; ')),
    ('SELECT n FROM a ORDER BY time DESC LIMIT 3', ('in order of time DESC; ',)),
    ("SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM f WHERE f.time > a.n || 'x')",
     ('times from; ',)),
    ('SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM f WHERE f.time >= nullif(a.n, a.n))',
     ('times from; ',)),
    ("SELECT count(*) FROM a JOIN f ON f.tid = a.tid || '' AND f.time > a.time",
     ('looks up tid; times from; ',)),
)


@pytest.mark.parametrize('n, queries', [(8000, TIMES[:-3]), (1000, TIMES[-3:])])
def test_comparisons_of_times(tmp_path, n, queries):
    """Equal times, bounds of them and their order are found without reading all rows."""
    path = tmp_path / 'many.script'
    path.write_text('# attar script\nevent k:a n:u32\nevent k:f n:u32\n' + ''.join(
        f'1.{i:09d} 0 7/{7 + i % 3} x k:{"af"[i * i % 7 % 2]} n={i}\n' for i in range(n)))
    stored = tmp_path / 'stored.db'
    words = [word for query, _ in queries for word in ('--query', query)]
    ended = run('sql', '--input', path, '--format', 'json', '--explain', '--timeout', '60s',
                *words)
    assert ended.returncode == 0, ended.stderr
    assert run('sql', '--input', path, '--output2', stored).returncode == 0
    sections = {s['name']: s['rows'] for s in json.loads(ended.stdout)['sections']}
    with contextlib.closing(sqlite3.connect(stored)) as db:
        for table in 'af':
            db.execute(f'CREATE INDEX of_{table} ON {table}(time)')
        for i, (query, plans) in enumerate(queries):
            expected = [list(row) for row in db.execute(query)]
            assert sections[f'query {i + 1}'] == expected, query
            plan = str(sections[f'plan of query {i + 1}'])
            assert all(f': {words}reads ' in plan for words in plans), (query, plan)


def test_times_of_late_events(tmp_path):
    """Rows that are not in the order of their times are found by these, too."""
    path = tmp_path / 'late.script'
    path.write_text('# attar script\nevent k:a n:u32\n' + ''.join(
        f'1.{time:03d} 0 7/7 x k:a n={time}\n' for time in (100, 300, 200, 500, 400)))
    ended = run('sql', '--input', path, '--format', 'json', '--query',
                'SELECT n FROM a ORDER BY time DESC; SELECT (SELECT max(x.n) FROM a x WHERE '
                'x.time < a.time) FROM a ORDER BY time')
    assert ended.returncode == 0, ended.stderr
    assert [[n for n, in s['rows']] for s in json.loads(ended.stdout)['sections']] == [
        [500, 400, 300, 200, 100], [None, 100, 200, 300, 400]]
