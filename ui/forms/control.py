"""One field of a form on the screen: label, help, control, examples, and the problem under it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from ui.forms.fields import Field
from ui.parts import Choice, Text, attach, line_input, text_area
from ui.theme import button

HARD_LIMIT = '200000'
"""Characters that a control takes at most: what is above goes through no connection in one message."""
GO = """setTimeout(() => {
    const control = document.getElementById("ID"), fold = control?.closest("details");
    if (fold) fold.open = true;
    control?.focus();
})"""
NEAR = 0.8
"""From this part of the longest text on, its length is shown."""


class Control:
    """A field's control with all that belongs to it."""

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
                self._control: ValueElement[Any] = self._drawn()
            else:
                with ui.element('div').classes('field-head'):
                    head = Text('label', field.title, 'label')
                    if field.optional and not field.required:
                        Text('span', 'optional', 'muted small')
                    ui.element('div').classes('grow')
                    self._count = Text('span', '', 'muted small num')
                    self._draw_examples()
                self._control = self._drawn()
                attach(head, for_=self._control.html_id)
            self._draw_words()
        self._control.on_value_change(lambda _: self._changed())
        self._control.on('blur', self._left)

    def _drawn(self) -> ValueElement[Any]:
        field, start = self.field, self.field.write(self.field.default)
        if field.kind == 'boolean':
            return ui.checkbox(field.title, value=start)
        if field.kind == 'choice':
            empty = {'': '–'} if field.optional or (field.required and not start) else {}
            shown = {name: field.labels.get(name, name.replace('_', ' ')) for name in field.choices}
            return Choice({**empty, **shown}, value=start)
        if field.kind in ('integer', 'number'):
            number = line_input(start, kind='number', step='1' if field.kind == 'integer' else 'any')
            for name, bound in (('min', field.least), ('max', field.most)):
                if bound is not None:
                    attach(number, **{name: str(bound)})
            return number
        if field.kind in ('multiline', 'list', 'json') and not field.inline:
            return text_area(start, maxlength=HARD_LIMIT)
        return line_input(start, maxlength=HARD_LIMIT)

    def _draw_words(self) -> None:
        field = self.field
        words = [field.help.rstrip('.'), field.bounds]
        if field.kind == 'list':
            words.append('Separated by commas' if field.inline else 'One entry a line')
        shown = '. '.join(word for word in words if word)
        base = self._control.html_id
        self._problem = Text('p', '', 'problem', id=f'{base}-problem', aria_live='polite')
        Text('p', f'{shown}.' if shown else '', 'help', id=f'{base}-help').set_visibility(bool(shown))
        described = [f'{base}-help'] if shown else []
        attach(self._control, aria_describedby=' '.join([*described, f'{base}-problem']))
        if field.required:
            attach(self._control, aria_required='true')

    def _draw_examples(self) -> None:
        examples = self.field.examples
        for number, example in enumerate(examples, start=1):
            text = 'Use an example' if len(examples) == 1 else f'Example {number}'
            offer = button(text, kind='quiet small').tooltip(str(self.field.write(example))[:300])
            offer.on('click', lambda _, example=example: self.put(self.field.write(example), by_user=True))

    @property
    def raw(self) -> Any:
        """What the control holds."""
        return self._control.value if self._control.value is not None else ''

    def put(self, content: Any, *, by_user: bool = False) -> None:
        """Show other content; `by_user` lets the form know of it."""
        if self.raw == content:
            return
        self._quiet = not by_user
        self._control.set_value(content)
        self._quiet = False

    _quiet = False

    def _changed(self) -> None:
        if self.field.kind in ('text', 'multiline') and self.field.most is not None:
            size = len(str(self.raw))
            self._count.show(f'{size:,} of {self.field.most:,.0f}' if size >= NEAR * self.field.most else '')
        if not self._quiet:
            self._on_change()

    def _left(self) -> None:
        if self.raw != '' and not self.visited:
            self.visited = True
            self._on_leave()

    def complain(self, problem: str, *, gently: bool) -> None:
        """Show what is wrong, or nothing; gently, not while a text may still grow to its least length."""
        if gently and not self.visited and not self.problem and self._unfinished():
            problem = ''
        if problem == self.problem:
            return
        self.problem = problem
        self._problem.show(problem)
        self._box.classes(add='bad' if problem else '', remove='' if problem else 'bad')
        attach(self._control, aria_invalid='true' if problem else 'false')

    def _unfinished(self) -> bool:
        size = len(str(self.raw))
        is_text = self.field.kind in ('text', 'multiline', 'json')
        return size == 0 or (is_text and size < (self.field.least or 1))

    def focus(self) -> None:
        """Move to the control, and open the fold it is in."""
        ui.run_javascript(GO.replace('ID', self._control.html_id))
