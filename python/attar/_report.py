# SPDX-License-Identifier: MIT
"""Reports of profilers: sections with rows, trees and histograms."""
from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any, Optional


class Section:
    """A part of a report: a table, lines of events, a time series, a histogram or a tree.

    name     such as 'functions'
    kind     'table', 'events', 'time series', 'histogram' or 'tree'
    columns  names of the columns
    units    'text', 'count', 'percent', 'ns', 'time', 'bytes', 'hex', 'hz', 'id' or 'clock'
    """

    _NODE = ('parent', 'kind', 'name', 'module', 'self', 'total', 'pid', 'tid')

    def __init__(self, report, number, name, kind, unit):
        self._report, self._number = report, number
        self.name, self.kind, self.unit = name, kind, unit
        if kind == 'tree':
            self.columns = list(self._NODE)
            self.units = ['id', 'text', 'text', 'text', unit, unit, 'id', 'id']
        else:
            pairs = report.columns(number)
            self.columns, self.units = [c for c, _ in pairs], [u for _, u in pairs]

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples. Of a tree: its nodes, parents first; the parent of a root is -1."""
        if self.kind == 'tree':
            return self._report.nodes(self._number)
        return self._report.rows(self._number)

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts by column; event lines also have their fields and stack."""
        rows = [dict(zip(self.columns, row)) for row in self.rows()]
        if self.kind == 'events':
            for row, (details, values) in zip(rows, self._report.extras(self._number)):
                if values:
                    row['values'] = values
                if details:
                    row['details'] = details
        return rows

    def column(self, name: str) -> list[Any]:
        """The values of one column."""
        if name not in self.columns:
            raise KeyError(f"section '{self.name}' has no column '{name}': "
                           f"it has {', '.join(self.columns)}")
        at = self.columns.index(name)
        return [row[at] for row in self.rows()]

    @property
    def summary(self) -> Optional[tuple[Any, ...]]:
        """Of a histogram: (count, sum, min, max), or None."""
        return self._report.summary(self._number)[0]

    @property
    def quantiles(self) -> dict[float, float]:
        """Of a histogram: values by share; 0.5 is the median."""
        return self._report.summary(self._number)[1]

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame; needs pandas."""
        import pandas
        return pandas.DataFrame(self.rows(), columns=self.columns)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.dicts())

    def __len__(self) -> int:
        return len(self.rows())

    def __repr__(self) -> str:
        return f"<attar.Section '{self.name}': {self.kind}, {len(self)} rows>"

    def _repr_html_(self) -> str:
        return _html_table(self)


class Report:
    """The result of a profiler, of an interval or of a whole run.

    profiler  its name
    time      ns since 1970; interval: the ns that it covers
    notes     a dict: what was seen, lost and throttled, and what attar cost; None for lines
    remarks   sentences, such as that another event had to be used
    sections  a list of Section; report['functions'] is the one with that name
    """

    def __init__(self, report):
        self._report = report
        self.profiler = report.profiler
        self.time, self.interval = report.span
        self.notes, self.remarks = report.notes, report.remarks
        self.sections = [Section(report, i, *one) for i, one in enumerate(report.sections)]

    def __getitem__(self, name: str) -> Section:
        for section in self.sections:
            if section.name == name:
                return section
        raise KeyError(f"the report has no section '{name}': it has "
                       f"{', '.join(s.name for s in self.sections) or 'none'}")

    def __contains__(self, name: object) -> bool:
        return any(section.name == name for section in self.sections)

    def __iter__(self) -> Iterator[Section]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def render(self, sink: str = 'text', *, title: Optional[str] = None,
               max_rows: int = 0) -> Any:
        """The report as the command writes it: 'text', 'json', 'csv', 'folded', 'html', ...

        It is str; bytes for the formats that are not text, such as 'pprof'.
        """
        return self._report.render(
            sink.encode(), None if title is None else title.encode(), max_rows)

    def to_dict(self) -> dict[str, Any]:
        """The report as the command's JSON, see docs/json.md."""
        return json.loads(self.render('json'))

    def to_pandas(self, section: Optional[str] = None) -> Any:
        """A section (default: the first) as a pandas.DataFrame; needs pandas."""
        return (self[section] if section is not None else self.sections[0]).to_pandas()

    def __str__(self) -> str:
        return self.render('text')

    def __repr__(self) -> str:
        return f"<attar.Report of {self.profiler}: {[s.name for s in self.sections]}>"

    def _repr_html_(self) -> str:
        """For notebooks: the page with the flame graph if there are stacks, else tables."""
        if any(section.kind == 'tree' for section in self.sections):
            page = html.escape(self.render('html'), quote=True)
            return (f'<iframe srcdoc="{page}" sandbox="allow-scripts" '
                    'style="width: 100%; height: 640px; border: 0"></iframe>')
        tables = ''.join(f'<h4>{html.escape(s.name)}</h4>{_html_table(s)}' for s in self.sections)
        remarks = ''.join(f'<p>{html.escape(text)}</p>' for text in self.remarks)
        return tables + remarks


_HTML_ROWS = 60


def _html_table(section):
    def cells(tag, values):
        return '<tr>' + ''.join(f'<{tag}>{html.escape("" if v is None else str(v))}</{tag}>'
                                for v in values) + '</tr>'
    rows = section.rows()
    more = len(rows) - _HTML_ROWS
    return ('<table><thead>' + cells('th', section.columns) + '</thead><tbody>'
            + ''.join(cells('td', row) for row in rows[:_HTML_ROWS]) + '</tbody></table>'
            + (f'<p>{more} more rows</p>' if more > 0 else ''))
