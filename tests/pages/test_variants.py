"""The page of variants, in a simulated browser."""

from engine.errors import JournalUnavailable
from tests.pages.test_runs import keep
from tests.support.clicks import click
from ui.pages.fork import variants

OF = {'options': {'group': 'variants-abc'}, 'tags': ('variants-abc',)}


async def test_nobody_is_called_the_winner_who_could_not_be_marked(pages, backend, conductor, monkeypatch):
    variants.register(backend)
    await keep(conductor, 1, **OF)
    await keep(conductor, 2, **OF)

    async def refuse(run):
        raise JournalUnavailable('the disk is full')

    monkeypatch.setattr(conductor, 'mark_winner', refuse)
    await pages.open('/variants/variants-abc')
    await pages.should_see('2 variants')
    click(pages, 'Pick as winner')
    await pages.should_see('the disk is full')
    await pages.should_not_see('is now tagged')


async def test_the_one_that_is_left_is_one_variant(pages, backend, conductor):
    variants.register(backend)
    await keep(conductor, 1, **OF)
    await pages.open('/variants/variants-abc')
    await pages.should_see('1 variant')
    await pages.should_not_see('1 variants')
