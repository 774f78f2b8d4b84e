"""The pattern that home suggests for a task."""

from typing import ClassVar

import pytest

from engine.configuration.catalog import Catalog
from ui.web.pages.home.choice import Choice, choose
from ui.web.pages.shared.launching.samples import samples

CATALOG = Catalog.load()


def suggest(task: str) -> Choice:
    return choose(task, CATALOG.patterns, 'pipeline')


@pytest.mark.parametrize('name', CATALOG.patterns)
def test_the_tasks_of_samples_are_given_to_a_pattern_that_has_them_or_to_the_default(name):
    pattern = CATALOG.patterns[name]
    tasks = [str(sample.parameters.get(pattern.task_field(), '')) for sample in samples(pattern)]
    assert pattern.task_field() in pattern.Parameters.model_fields
    assert name in {suggest(task).pattern for task in tasks} or name in ('judge', 'time-bounded')


def test_the_words_of_a_task_are_the_reasons_in_any_form_and_in_its_order():
    choice = suggest('Fixing it, since the parser crashes')
    assert (choice.pattern, choice.words) == ('debugger', ('fixing', 'crashes'))


def test_a_task_without_a_telling_word_gets_the_default_and_no_reasons():
    assert suggest('Hm?') == Choice(pattern='pipeline')
    assert suggest('') == Choice(pattern='pipeline')


def test_a_word_that_fewer_patterns_claim_counts_for_more():
    class Named:
        title: ClassVar[str]
        suits: ClassVar[tuple[str, ...]]

    class First(Named):
        title, suits = 'First', ('write', 'essay')

    class Second(Named):
        title, suits = 'Second', ('write', 'poem')

    patterns = {'first': First, 'second': Second}
    choice = choose('Write a poem', patterns, 'first')
    assert choice == Choice(pattern='second', words=('poem', 'write'), others=('first',))
