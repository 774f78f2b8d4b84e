"""One form field on the screen: label, help, control, examples, and the problem under it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.disableable_element import DisableableElement
from nicegui.elements.mixins.value_element import ValueElement

from ui.formatting.values import as_sentence
from ui.web.components.elements import Combobox
from ui.web.components.forms.fields import TEXT_KINDS, Field
from ui.web.components.forms.groups import PairRows, Toggles
from ui.web.components.forms.nested import NestedFields
from ui.web.components.menus import PickerItem, picker
from ui.web.components.theme import button
from ui.web.components.widgets import (
    Box,
    NativeSelect,
    SecretInput,
    Text,
    set_attributes,
    set_class,
    text_area,
    text_input,
)

HARD_LIMIT = '200000'
"""Maximum number of characters in a control: longer values do not fit into one message."""
FOCUS = """setTimeout(() => {
    if (STILL && document.activeElement?.matches("input, select, textarea")) return;  // A person was quicker.
    const place = document.getElementById("ID");
    const control = place?.matches("[role=group]") ? place.querySelector("input, textarea, button") : place;
    for (let fold = control; (fold = fold?.parentElement?.closest("details")); ) fold.open = true;
    control?.focus({ preventScroll: STILL });
})"""
GROUPED_KINDS = 'choices', 'pairs', 'nested'
"""Kinds whose control has several parts, which share the label."""
MAX_SELECT = 40
"""Maximum number of choices of a select; more are searched by typing."""
LENGTH_SHOWN_FROM = 0.8
"""Fraction of the maximum length from which the length is shown."""


class Control:
    """A field's control and everything around it."""

    def __init__(self, field: Field, *, on_change: Callable[[], None], on_blur: Callable[[], None]) -> None:
        """Draw it with the field's default."""
        self.field, self.problem, self.visited = field, '', False
        self._on_change, self._blur_callback = on_change, on_blur
        with Box(f'field {field.kind}') as self._box:
            if field.kind == 'boolean':
                self._control: ValueElement[Any] = self._draw()
            else:
                grouped = field.kind in GROUPED_KINDS
                with Box('field-head'):
                    head = Text('span' if grouped else 'label', field.title, 'label')
                    if field.optional and not field.required:
                        Text('span', 'optional', 'muted small')
                    Box('grow')
                    self._count = Text('span', '', 'muted small num')
                    self._draw_examples()
                self._control = self._draw()
                if grouped:
                    set_attributes(self._control, aria_labelledby=head.html_id)
                else:
                    set_attributes(head, for_=self._control.html_id)
            self._draw_help()
        self._control.on_value_change(lambda _: self._notify())
        self._control.on('blur', self._on_blur)

    def _draw(self) -> ValueElement[Any]:
        field, start = self.field, self.field.format(self.field.default)
        if field.kind == 'boolean':
            return ui.checkbox(field.title, value=start)
        if field.kind == 'nested':
            return NestedFields(field.title, start, field.new)
        if field.choices or field.kind == 'pairs':
            return self._draw_choice(start)
        return self._draw_text(start)

    def _draw_text(self, start: Any) -> ValueElement[Any]:
        field = self.field
        if field.kind == 'password':
            return SecretInput(maxlength=HARD_LIMIT)
        if field.kind in ('integer', 'number'):
            # Not a number field of the browser: it drops a comma that is not its own, so that 0,5 becomes 5.
            return text_input(start, inputmode='numeric' if field.kind == 'integer' else 'decimal')
        if field.kind in ('multiline', 'list', 'json') and not field.inline:
            return text_area(start, maxlength=HARD_LIMIT)
        unchecked = {'spellcheck': 'false', 'autocapitalize': 'off'} if field.kind == 'path' else {}
        kind = field.kind if field.kind in ('date', 'time') else 'text'
        return text_input(start, kind=kind, maxlength=HARD_LIMIT, **unchecked)

    def _draw_choice(self, start: Any) -> ValueElement[Any]:
        field = self.field
        labels = {name: field.label(name) for name in field.choices}
        if field.kind == 'pairs':
            return PairRows(start)
        if field.kind == 'choices':
            return Toggles(labels, start)
        if len(labels) > MAX_SELECT:
            return _search_box(field, start)
        empty = {'': '–'} if field.optional or (field.required and not start) else {}
        return NativeSelect({**empty, **labels}, value=start)

    def _draw_help(self) -> None:
        field = self.field
        words = [field.help.rstrip('.')]
        if field.kind == 'list':
            words.append('Separated by commas' if field.inline else 'One entry per line')
        help_text = '. '.join(word for word in words if word)
        base = self._control.html_id
        self._problem = Text('p', '', 'problem', id=f'{base}-problem', aria_live='polite')
        Text('p', f'{help_text}.' if help_text else '', 'help', id=f'{base}-help').set_visibility(
            bool(help_text)
        )
        self._note = Text('p', '', 'help found', id=f'{base}-note', role='status')
        self._note.set_visibility(False)
        described = [f'{base}-help'] if help_text else []
        set_attributes(self._control, aria_describedby=' '.join([*described, f'{base}-problem']))
        if field.required:
            set_attributes(self._control, aria_required='true')

    def _draw_examples(self) -> None:
        if offered := self.field.suggestions:
            picks = [
                PickerItem(title=value, on_choose=partial(self.set_content, value, by_user=True))
                for value in offered
            ]
            title = 'Sample projects' if self.field.kind == 'path' else 'Choose'
            picker(title, '', picks, kind='quiet small')
        examples = self.field.examples
        for number, example in enumerate(examples, start=1):
            text = 'Insert example' if len(examples) == 1 else f'Example {number}'
            offer = button(text, kind='quiet small').tooltip(str(self.field.format(example))[:300])
            offer.on(
                'click', lambda _, example=example: self.set_content(self.field.format(example), by_user=True)
            )

    @property
    def raw(self) -> Any:
        """The content as entered, not yet validated; '' if there is none."""
        return self._control.value if self._control.value is not None else ''

    def show_note(self, text: str) -> None:
        """Show a note on the content under the field; '' for none."""
        text = text or self._restriction
        self._note.show(text)
        self._note.set_visibility(bool(text))

    def restrict_to_default(self, reason: str) -> None:
        """Allow only the default, since another value would have no effect here, and show why."""
        self._restriction = as_sentence(reason)
        self.show_note('')
        self._apply_restriction()

    def _apply_restriction(self) -> None:
        if self._restriction and isinstance(self._control, DisableableElement):
            # A value from an earlier run can still be removed.
            self._control.set_enabled(self.raw != self.field.format(self.field.default))

    def set_applicable(self, applicable: bool) -> None:
        """Show the field, or hide it where it has no effect."""
        self._box.set_visibility(applicable)

    def set_content(self, content: Any, *, by_user: bool = False) -> None:
        """Set other content; with `by_user` the form is notified."""
        if self.raw == content:
            return
        self._quiet = not by_user
        self._control.set_value(content)
        self._quiet = False

    _quiet = False
    _restriction = ''

    def _notify(self) -> None:
        self._apply_restriction()
        if self.field.kind in TEXT_KINDS and self.field.maximum is not None:
            size = len(str(self.raw))
            self._count.show(
                f'{size:,} of {self.field.maximum:,.0f}'
                if size >= LENGTH_SHOWN_FROM * self.field.maximum
                else ''
            )
        if not self._quiet:
            self._on_change()

    def _on_blur(self) -> None:
        if self.raw != '' and not self.visited:
            self.visited = True
            self._blur_callback()

    def show_problem(self, problem: str, *, lenient: bool) -> None:
        """Show a problem, or none; with `lenient`, not while a text may still reach its minimum length."""
        if lenient and not self.visited and not self.problem and self._is_unfinished():
            problem = ''
        if problem == self.problem:
            return
        self.problem = problem
        self._problem.show(problem)
        set_class(self._box, 'bad', on=problem)
        set_attributes(self._control, aria_invalid='true' if problem else 'false')

    def _is_unfinished(self) -> bool:
        size = len(str(self.raw))
        is_text = self.field.kind in (*TEXT_KINDS, 'json')
        is_searched = len(self.field.choices) > MAX_SELECT
        return size == 0 or is_searched or (is_text and size < (self.field.minimum or 1))

    def focus(self, *, prevent_scroll: bool = False) -> None:
        """Focus the control, opening its section.

        With `prevent_scroll`, as for a page that opens, the page is not scrolled to it, and a field in which
        a person types already keeps the focus.
        """
        ui.run_javascript(
            FOCUS.replace('ID', self._control.html_id).replace('STILL', str(prevent_scroll).lower())
        )


def _search_box(field: Field, start: str) -> Combobox:
    """Draw a choice among many, grouped by the first part of their paths: Europe of Europe/Berlin."""
    groups: dict[str, list[str]] = {}
    for choice in field.choices:
        groups.setdefault(choice.rpartition('/')[0].partition('/')[0], []).append(choice)
    box = Combobox(start, label=field.title, empty_text='No match.', single=True)
    box.set_groups(
        [{'label': label, 'note': '', 'options': options} for label, options in sorted(groups.items())]
    )
    return box
