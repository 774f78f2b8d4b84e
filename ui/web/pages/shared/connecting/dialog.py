"""The dialog that connects a model, in three steps: whose it is, its key, what to do with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from engine import EngineError
from engine.models import KNOWN_PROVIDERS, EndpointHealth
from ui.app.backend import Backend
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import await_answer, dialog_frame, notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes, set_class
from ui.web.pages.shared.connecting.form import Connection, key_place, provider_of
from ui.web.pages.shared.connecting.key_step import KeyStep
from ui.web.pages.shared.connecting.result import describe, models_with_prices
from ui.web.pages.shared.connecting.tiles import draw_tiles
from ui.web.pages.shared.launching.models import describe_cost
from ui.web.pages.shared.launching.samples import Starter, last_sample
from ui.web.pages.shared.section_dialog import remove

TITLE = 'Connect a model'


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a page does with the model that was connected."""

    words: str
    """The text of the button."""
    act: Callable[[str], Awaitable[Any]]
    """Is called with `endpoint/model`; the dialog stays open if it returns False."""
    icon: str = 'play_arrow'


class ConnectDialog:
    """Connects a model, or edits its connection.

    Args:
        backend: the backend.
        on_done: called when the configuration has changed.
        use: what to do with a model; by default, the sample that was run last is run with it.
    """

    def __init__(self, backend: Backend, on_done: Callable[[], Any], use: Use | None = None) -> None:
        self._backend, self._on_done, self._use = backend, on_done, use

    async def open(self, name: str = '') -> None:
        """Open the dialog for a new connection, or for that of this name."""
        section = await notify_errors(self._backend().endpoints.get(name)) if name else {}
        if section is None:
            return
        with dialog_frame(f'Edit {name}' if name else TITLE) as dialog, Box('connect') as place:
            pass
        steps = _Steps(self._backend, self._on_done, self._use, dialog, place)
        if name:
            await steps.ask(provider_of(name, section), name, section)
        else:
            await steps.choose()
        if await await_answer(dialog) == 'remove':
            await remove(self._backend().endpoints, name, self._on_done)


class _Steps:
    """The content of the open dialog: one step at a time."""

    def __init__(
        self,
        backend: Backend,
        on_done: Callable[[], Any],
        use: Use | None,
        dialog: ui.dialog,
        place: ui.element,
    ) -> None:
        self._backend, self._on_done, self._use = backend, on_done, use
        self._dialog, self._place = dialog, place

    async def choose(self) -> None:
        """Show the providers, and look for those on this machine."""
        self._place.clear()
        with self._place:
            tiles = Box('connect')
            with Box('dialog-actions'):
                self._draw_close('Cancel')

        async def draw() -> None:
            infos = await self._backend().endpoints.list()
            if not tiles.is_deleted:
                tiles.clear()
                with tiles:
                    draw_tiles(infos, self._take)

        async def look() -> None:
            await self._backend().endpoints.discover()
            await draw()

        await draw()
        create_page_task(self._place, look(), 'look for models on this machine')

    async def _take(self, provider: str) -> None:
        """Go on with a provider: it is new, connected already, or was found on this machine."""
        infos = {info.endpoint: info for info in await self._backend().endpoints.list()}
        info = infos.get(provider)
        if info is None:
            await self.ask(provider)
        elif info.found == 'this machine':
            health = await self._test(provider)
            await (self.ask(provider) if health.problem else self._offer(health))
        else:
            section = await notify_errors(self._backend().endpoints.get(provider))
            if section is not None:
                await self.ask(provider_of(provider, section), provider, {'key': info.key, **section})

    async def ask(self, provider: str, name: str = '', section: Mapping[str, Any] | None = None) -> None:
        """Show the form of a new connection, or of the one of this name."""
        place = await asyncio.to_thread(key_place)
        if self._place.is_deleted:
            return
        self._place.clear()
        with self._place:
            step = KeyStep(provider, name, section or {}, place)
            with Box('dialog-actions'):
                if name and section:
                    button('Remove', kind='danger').on('click', lambda: self._dialog.submit('remove'))
                    Box('grow', 'span')
                if name:
                    self._draw_close('Close')
                else:
                    button('Back').on('click', self.choose)
                words = 'Save and test' if name else 'Connect'
                save = button(words, kind='primary', requires='endpoints.save')

        async def connect() -> None:
            if connection := step.submit():
                set_class(save, 'busy', on=True)
                await self._connect(step, connection)
                if not save.is_deleted:
                    set_class(save, 'busy', on=False)

        save.on('click', connect)
        with self._place:  # the tile that was clicked is gone
            step.form.focus()

    async def _connect(self, step: KeyStep, connection: Connection) -> None:
        """Save a connection and test it; then offer its models, or show what is wrong."""
        step.say('', 'Testing…')
        try:
            await self._backend().endpoints.save(connection.name, connection.values, secret=connection.secret)
        except EngineError as error:
            step.show_refusal(error)
            return
        self._on_done()
        health = await self._test(connection.name)
        if not health.problem:
            await self._offer(health)
        elif not self._place.is_deleted:
            step.say(*describe(health))

    async def _test(self, name: str) -> EndpointHealth:
        health = await self._backend().endpoints.test(name)
        self._on_done()
        return health

    async def _offer(self, health: EndpointHealth) -> None:
        """Show the models that can be used now."""
        registry = self._backend().catalog.registry
        models = await asyncio.to_thread(models_with_prices, registry, health)
        if self._place.is_deleted:
            return
        self._place.clear()
        with self._place:
            with Box('connect-head'):
                known = KNOWN_PROVIDERS.get(health.endpoint)
                Text('h3', known.title if known else health.endpoint)
                Text('span', 'Works' if health.called else 'Answers', 'pill done')
            Text('p', describe(health)[0], 'muted')
            if not models:
                with Box('dialog-actions'):
                    self._draw_close('Done')
                return
            with Box('field'):
                with Box('field-head'):
                    head = Text('label', 'Model', 'label')
                chosen = NativeSelect(models, value=next(iter(models)))
                set_attributes(head, for_=chosen.html_id)
            Text('p', describe_cost(registry, models), 'help')
            use = self._use or await self._run_sample()

            with Box('dialog-actions'):
                self._draw_close('Done')
                if use:
                    self._draw_use(use, chosen)

    def _draw_use(self, use: Use, chosen: NativeSelect) -> None:
        async def act() -> None:
            set_class(go, 'busy', on=True)
            if await use.act(chosen.value) is not False:
                self._dialog.submit(None)
            else:
                set_class(go, 'busy', on=False)

        go = button(use.words, icon=use.icon, kind='primary', requires='start').on('click', act)

    async def _run_sample(self) -> Use | None:
        last = await last_sample(self._backend(), self._backend().catalog.patterns)
        if last is None:
            return None
        starter = Starter(self._backend)
        return Use(
            words=f'Run {"the same" if last.was_run else "a"} sample with it',
            act=lambda model: starter.start_sample(last.pattern, last.sample, model),
        )

    def _draw_close(self, words: str) -> None:
        button(words).on('click', lambda: self._dialog.submit(None))
