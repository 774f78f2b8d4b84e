"""One form field on the screen: label, help, control, examples, and the problem under it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.disableable_element import DisableableElement
from nicegui.elements.mixins.value_element import ValueElement

from ui.components.forms.fields import TEXTS, Field
from ui.components.menus import PickerItem, picker
from ui.components.theme import button
from ui.components.widgets import NativeSelect, Text, set_attributes, text_area, text_input
from ui.formatting.values import as_sentence

HARD_LIMIT = '200000'
"""Maximum number of characters in a control: longer values do not fit into one message."""
GO = """setTimeout(() => {
    const control = document.getElementById("ID"), fold = control?.closest("details");
    if (fold) fold.open = true;
    control?.focus({ preventScroll: STILL });
})"""
NEAR = 0.8
"""Fraction of the maximum length from which the length is shown."""


class Control:
    """A field's control and everything around it."""

    def __init__(
        self,
        field: Field,
        *,
        on_change: Callable[[], None],
        on_leave: Callable[[], None],
    ) -> None:
        """Draw it with the field's default."""
        self.field, self.problem, self.visited = field, '', False
        self._on_change, self._on_leave = on_change, on_leave
        with ui.element('div').classes(f'field {field.kind}') as self._box:
            if field.kind == 'boolean':
                self._control: ValueElement[Any] = self._draw()
            else:
                with ui.element('div').classes('field-head'):
                    head = Text('label', field.title, 'label')
                    if field.optional and not field.required:
                        Text('span', 'optional', 'muted small')
                    ui.element('div').classes('grow')
                    self._count = Text('span', '', 'muted small num')
                    self._draw_examples()
                self._control = self._draw()
                set_attributes(head, for_=self._control.html_id)
            self._draw_words()
        self._control.on_value_change(lambda _: self._notify())
        self._control.on('blur', self._on_blur)

    def _draw(self) -> ValueElement[Any]:
        field, start = self.field, self.field.write(self.field.default)
        if field.kind == 'boolean':
            return ui.checkbox(field.title, value=start)
        if field.kind == 'choice':
            empty = {'': '–'} if field.optional or (field.required and not start) else {}
            shown = {name: field.label(name) for name in field.choices}
            return NativeSelect({**empty, **shown}, value=start)
        if field.kind in ('integer', 'number'):
            number = text_input(start, kind='number', step='1' if field.kind == 'integer' else 'any')
            for name, bound in (('min', field.least), ('max', field.most)):
                if bound is not None:
                    set_attributes(number, **{name: str(bound)})
            return number
        if field.kind in ('multiline', 'list', 'json') and not field.inline:
            return text_area(start, maxlength=HARD_LIMIT)
        unchecked = {'spellcheck': 'false', 'autocapitalize': 'off'} if field.kind == 'path' else {}
        kind = 'date' if field.kind == 'date' else 'text'
        return text_input(start, kind=kind, maxlength=HARD_LIMIT, **unchecked)

    def _draw_words(self) -> None:
        field = self.field
        words = [field.help.rstrip('.'), field.bounds]
        if field.kind == 'list':
            words.append('Separated by commas' if field.inline else 'One entry per line')
        shown = '. '.join(word for word in words if word)
        base = self._control.html_id
        self._problem = Text('p', '', 'problem', id=f'{base}-problem', aria_live='polite')
        Text('p', f'{shown}.' if shown else '', 'help', id=f'{base}-help').set_visibility(bool(shown))
        self._note = Text('p', '', 'help found', id=f'{base}-note', role='status')
        self._note.set_visibility(False)
        described = [f'{base}-help'] if shown else []
        set_attributes(self._control, aria_describedby=' '.join([*described, f'{base}-problem']))
        if field.required:
            set_attributes(self._control, aria_required='true')

    def _draw_examples(self) -> None:
        if offered := self.field.suggestions:
            picks = [
                PickerItem(title=value, chosen=partial(self.put, value, by_user=True)) for value in offered
            ]
            picker('Sample projects', '', picks, kind='quiet small')
        examples = self.field.examples
        for number, example in enumerate(examples, start=1):
            text = 'Insert example' if len(examples) == 1 else f'Example {number}'
            offer = button(text, kind='quiet small').tooltip(str(self.field.write(example))[:300])
            offer.on('click', lambda _, example=example: self.put(self.field.write(example), by_user=True))

    @property
    def raw(self) -> Any:
        """The content of the control."""
        return self._control.value if self._control.value is not None else ''

    def note(self, text: str) -> None:
        """Show a note on the content under the field; '' for none."""
        text = text or self._withheld
        self._note.show(text)
        self._note.set_visibility(bool(text))

    def withhold(self, why: str) -> None:
        """Allow only the default, since another value would have no effect here, and show why."""
        self._withheld = as_sentence(why)
        self.note('')
        self._close()

    def _close(self) -> None:
        if self._withheld and isinstance(self._control, DisableableElement):
            # A value from an earlier run can still be removed.
            self._control.set_enabled(self.raw != self.field.write(self.field.default))

    def offer(self, applies: bool) -> None:
        """Show the field, or hide it where it has no effect."""
        self._box.set_visibility(applies)

    def put(self, content: Any, *, by_user: bool = False) -> None:
        """Set other content; with `by_user` the form is notified."""
        if self.raw == content:
            return
        self._quiet = not by_user
        self._control.set_value(content)
        self._quiet = False

    _quiet = False
    _withheld = ''

    def _notify(self) -> None:
        self._close()
        if self.field.kind in TEXTS and self.field.most is not None:
            size = len(str(self.raw))
            self._count.show(f'{size:,} of {self.field.most:,.0f}' if size >= NEAR * self.field.most else '')
        if not self._quiet:
            self._on_change()

    def _on_blur(self) -> None:
        if self.raw != '' and not self.visited:
            self.visited = True
            self._on_leave()

    def complain(self, problem: str, *, gently: bool) -> None:
        """Show a problem, or none; with `gently`, not while a text may still reach its minimum length."""
        if gently and not self.visited and not self.problem and self._is_unfinished():
            problem = ''
        if problem == self.problem:
            return
        self.problem = problem
        self._problem.show(problem)
        self._box.classes(add='bad' if problem else '', remove='' if problem else 'bad')
        set_attributes(self._control, aria_invalid='true' if problem else 'false')

    def _is_unfinished(self) -> bool:
        size = len(str(self.raw))
        is_text = self.field.kind in (*TEXTS, 'json')
        return size == 0 or (is_text and size < (self.field.least or 1))

    def focus(self, *, still: bool = False) -> None:
        """Focus the control, opening the section it is in; with `still`, the page is not scrolled to it."""
        ui.run_javascript(GO.replace('ID', self._control.html_id).replace('STILL', str(still).lower()))
