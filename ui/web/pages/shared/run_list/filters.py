"""Filters of a list of runs: as a record, in the address, and as controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import cast
from urllib.parse import urlencode

from nicegui import ui

from engine import Catalog, Status
from engine.operations.experiments import TAG
from engine.records import MAX_VERSION, RunOrder, RunQuery
from ui.formatting.fields.parameters import version_name
from ui.formatting.steps import edge_text, path_text
from ui.formatting.values import STATUS_TEXT, day_range, parse_day, parse_number
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, label, set_attributes, text_input
from ui.web.routing import traffic_path

UNENDED = 'unended'
STATUSES = {'': 'Any status', UNENDED: 'Not ended'} | {
    status.value: words for status, words in STATUS_TEXT.items()
}

SORTS = ('title', 'bytes', 'steps', 'tokens', 'duration', 'created')
WITHOUT_EXPERIMENTS = f'-{TAG}'
"""The choice of a tag that leaves out the runs of experiments."""
ANY_TAG = {'': 'Any tag', WITHOUT_EXPERIMENTS: 'Not of experiments'}
ANY_VERSION = {'': 'Any version'}
MARKED = {'': 'Any mark', 'starred': 'Starred', 'pinned': 'Pinned'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The filters a person has set."""

    text: str = ''
    pattern: str = ''
    version: str = ''
    status: str = ''
    tag: str = ''
    marked: str = ''
    """One of `MARKED`."""
    since: str = ''
    """A date such as 2026-03-04; `until` is inclusive."""
    until: str = ''
    page: int = 1
    edge: str = ''
    """Edges, of which the run took any: `source>dest`, separated by `|`. With `state`, the run was in it;
    with `trouble`, something failed there."""
    state: str = ''
    trouble: str = ''
    show: str = ''
    """The mode of the heatmap: see `ui.web.pages.traffic.heatmap_badges.MODES`."""
    sort: str = ''
    """One of `SORTS`; '' is newest first, with pinned runs on top."""
    up: str = ''
    """Ascending unless ''."""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Filters:
        """Read filters from an address; invalid values are dropped."""
        page = parse_number(query.get('page', '')) or 1
        return cls(
            text=query.get('text', '')[:200],
            pattern=query.get('pattern', ''),
            version=query.get('version', '')[:MAX_VERSION],
            status=query.get('status', '') if query.get('status', '') in STATUSES else '',
            tag=query.get('tag', ''),
            marked=query.get('marked', '') if query.get('marked', '') in MARKED else '',
            since=query.get('since', '') if parse_day(query.get('since', '')) else '',
            until=query.get('until', '') if parse_day(query.get('until', '')) else '',
            page=page if page < 10**6 else 1,
            edge=query.get('edge', '')[:500],
            state=query.get('state', '')[:500],
            trouble=query.get('trouble', '')[:1],
            show=query.get('show', '')[:10],
            sort=query.get('sort', '') if query.get('sort', '') in SORTS else '',
            up=query.get('up', '')[:1],
        )

    @property
    def narrowing(self) -> int:
        """The number of filters that are set."""
        active = (
            self.text,
            self.pattern,
            self.version,
            self.status,
            self.tag,
            self.marked,
            self.since,
            self.until,
            self.edge,
            self.state,
        )
        return sum(map(bool, active))

    @property
    def picked(self) -> str:
        """The selected edge and state in words; '' if there are none."""
        edge = f'took {" or ".join(map(edge_text, self.edge.split("|")))}' if self.edge else ''
        state = f'{"failed in" if self.trouble else "were in"} {path_text(self.state)}' if self.state else ''
        return ' and '.join(filter(None, (edge, state)))

    @property
    def all(self) -> Filters:
        """The same without the selection, from the first page."""
        return replace(self, edge='', state='', trouble='', page=1)

    def address(self, path: str) -> str:
        """Return the address of `path` with these filters; a traffic page's path names the pattern."""
        values = {'page': 1, **({'pattern': self.pattern} if path == traffic_path(self.pattern) else {})}
        changed = {name: value for name, value in asdict(self).items() if value and value != values.get(name)}
        return f'{path}?{urlencode(changed)}' if changed else path

    def query(self, size: int, *, trash: bool = False) -> RunQuery:
        """Return the journal query for a page of `size` runs, of the list or of the trash."""
        if self.status == UNENDED:
            status = tuple(status for status in Status if not status.ended)
        else:
            status = (Status(self.status),) if self.status else ()
        since, until = day_range(self.since, self.until)
        return RunQuery(
            text=self.text.strip(),
            pattern=self.pattern,
            version=self.version,
            status=status,
            tag='' if self.tag == WITHOUT_EXPERIMENTS else self.tag,
            without_tag=TAG if self.tag == WITHOUT_EXPERIMENTS else '',
            since=since,
            until=until,
            edges=tuple(filter(None, self.edge.split('|'))),
            state=self.state,
            trouble=bool(self.trouble),
            starred=self.marked == 'starred',
            pinned=self.marked == 'pinned',
            place='trash' if trash else 'list',
            pins_first=not (trash or self.sort or self.up),
            sort=cast(RunOrder, self.sort or 'created'),
            ascending=bool(self.up),
            totals=True,
            offset=(self.page - 1) * size,
            limit=size,
        )


class FilterBar:
    """The bar above the list in which people filter runs."""

    def __init__(
        self,
        filters: Filters,
        patterns: Mapping[str, str],
        *,
        on_change: Callable[[Filters], None],
        single: bool = False,
    ) -> None:
        """Draw them; `patterns` maps names to titles, `on_change` gets the filters after each change.

        With `single`, a pattern is always set, and the page itself shows the selection.
        """
        self._filters, self._on_change, self._setting = filters, on_change, False
        self._always = filters.pattern if single else ''
        with Box('filters folded', role='search', aria_label='Runs') as self._box:
            with Box('filter wide'):
                self._text = text_input(filters.text, kind='search', placeholder='Search runs')
                self._text.props('debounce=200')
                label('Search runs', self._text, 'visually-hidden')
            self._more = button('Filters', icon='tune', kind='more')
            with self._more:
                self._set = Text('span', '', 'num')
            self._more.on('click', self._fold)
            offered = patterns if single else {'': 'Any pattern', **patterns}
            self._pattern = self._choice('Pattern', offered, filters.pattern, self._forget_version)
            with Box('ghost') as self._version_box:
                self._version = self._choice('Version', ANY_VERSION, filters.version)
            self._status = self._choice('Status', STATUSES, filters.status)
            self._tag = self._choice('Tag', ANY_TAG, filters.tag)
            self._marked = self._choice('Marked', MARKED, filters.marked)
            with Box('filter-dates'):
                self._since = self._date('From', filters.since)
                self._until = self._date('To', filters.until)
            with Box('btn small picked', 'button', type='button') as self._picked:
                self._count = Text('span', '')
                ui.icon('close')
            set_attributes(self._picked, title='Clear this filter')
            self._picked.on('click', self._drop)
        self.set_filters(filters)
        self._show_version()
        for field in (self._text, self._since, self._until):
            field.on_value_change(lambda _: self._notify())

    def _fold(self) -> None:
        self._box.classes(toggle='folded')
        self._show_hidden_count()

    def _show_hidden_count(self) -> None:
        """Show the number of active filters that a narrow window hides."""
        hidden = replace(self._filters, text='', pattern='' if self._always else self._filters.pattern)
        number = hidden.all.narrowing
        self._set.show(f'({number})' if number else '')
        set_attributes(self._more, aria_expanded=str('folded' not in self._box.classes).lower())

    def _choice(
        self, name: str, options: Mapping[str, str], value: str, on_change: Callable[[], None] | None = None
    ) -> NativeSelect:
        with Box('filter'):
            choice = NativeSelect(options, value=value, on_change=on_change or self._notify)
            label(name, choice, 'visually-hidden')
        return choice

    def _date(self, name: str, value: str) -> ui.input:
        with Box('filter date'):
            caption = Text('label', name, 'muted small')
            field = text_input(value, kind='date', max='9999-12-31')
            set_attributes(caption, for_=field.html_id)
        return field

    def set_tags(self, tags: Iterable[str]) -> None:
        """Offer these tags in addition to those offered before."""
        tag_names = {*self._tag.options, *tags} - {*ANY_TAG}
        self._tag.set_options(ANY_TAG | {tag: tag for tag in sorted(tag_names, key=str.lower)})

    def set_versions(self, versions: Iterable[str], catalog: Catalog) -> None:
        """Offer these versions of the chosen pattern in addition to those offered before."""
        pattern = self._filters.pattern
        new = {each: version_name(catalog, pattern, each) for each in versions if each and pattern}
        self._version.set_options(self._version.options | new)
        self._show_version()

    def _show_version(self) -> None:
        """Offer versions if there are several to choose from, or one is chosen."""
        several = len(self._version.options) > len(ANY_VERSION) + 1
        self._version_box.set_visibility(several or bool(self._version.value))

    def _forget_version(self) -> None:
        self._setting = True
        self._version.set_value('')
        self._version.set_options(ANY_VERSION)
        self._setting = False
        self._show_version()
        self._notify()

    def set_filters(self, filters: Filters) -> None:
        """Store the selection, whose only control here is the button to clear it."""
        self._filters = filters
        self._picked.set_visibility(bool(filters.picked) and not self._always)
        self._count.show(filters.picked)
        self._show_hidden_count()

    def show(self, is_shown: bool) -> None:
        """Show the filters, or hide them if there is nothing to filter."""
        self._box.set_visibility(is_shown)

    def clear(self) -> None:
        """Empty all filters, so that all runs are listed."""
        self._setting = True
        for field in (
            self._text,
            self._version,
            self._status,
            self._tag,
            self._marked,
            self._since,
            self._until,
        ):
            field.set_value('')
        self._pattern.set_value(self._always)
        self._setting = False
        self._drop()

    def _drop(self) -> None:
        self.set_filters(self._collect().all)
        self._on_change(self._filters)

    def _notify(self) -> None:
        read = self._filters if self._setting else self._collect()
        if read != replace(self._filters, page=1):
            self._filters = read
            self._show_hidden_count()
            self._on_change(read)

    def _collect(self) -> Filters:
        return Filters.from_query(asdict(self._filters) | {
            'text': self._text.value or '', 'pattern': self._pattern.value,
            'version': self._version.value or '', 'status': self._status.value, 'tag': self._tag.value,
            'marked': self._marked.value, 'page': '', 'since': self._since.value or '',
            'until': self._until.value or '',
        })  # fmt: skip
