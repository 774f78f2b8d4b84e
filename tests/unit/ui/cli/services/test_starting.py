"""hemicycle schedule and trigger: added, shown, changed and removed."""

from pathlib import Path
from typing import Any

from engine.operations.experiments import SAMPLE
from tests.support.cli import Hemicycle, invoke, json_lines

NIGHTLY = ('--pattern', 'pipeline', '--set', 'task=News?', '--cron', '30 2 * * *', '--zone', 'Europe/Berlin')


def only(text: str) -> dict[str, Any]:
    (data,) = json_lines(text)
    return data


def test_a_schedule_is_added_and_changed_in_part(hemicycle: Hemicycle) -> None:
    schedule = only(invoke(hemicycle, 'schedule', 'add', 'nightly', *NIGHTLY, '--tag', 'news', '--json'))
    assert schedule['spec']['cron'] == ['30 2 * * *'] and schedule['action']['tags'] == ['news']
    change = ('schedule', 'change', 'nightly', '--json')
    changed = only(invoke(hemicycle, *change, '--cron', '0 4 * * *', '--overlap', 'buffer_one'))
    assert (changed['spec']['cron'], changed['spec']['time_zone']) == (['0 4 * * *'], 'Europe/Berlin')
    assert changed['policy'] == {**schedule['policy'], 'overlap': 'buffer_one'}
    assert changed['action'] == schedule['action']
    changed = only(invoke(hemicycle, *change, '--every', '900', '--set', 'max_iterations=1', '--tag', ''))
    assert (changed['spec']['cron'], changed['spec']['intervals'][0]['every']) == ([], 900)
    assert changed['action']['parameters'] == {'task': 'News?', 'max_iterations': '1'}
    assert changed['action']['tags'] == []
    changed = only(invoke(hemicycle, *change, '--file', f'{__file__}=test.py'))
    assert [*changed['action']['files']] == ['test.py']
    changed = only(invoke(hemicycle, *change, '--name', 'often', '--pause-on-failure', '--note', 'a trial'))
    assert (changed['name'], changed['note'], changed['policy']['pause_on_failure']) == (
        'often',
        'a trial',
        True,
    )
    changed = only(
        invoke(
            hemicycle, 'schedule', 'change', 'often', '--json', '--pattern', 'blog', '--set', 'request=Bees'
        )
    )
    assert (changed['action']['pattern'], changed['action']['parameters']) == ('blog', {'request': 'Bees'})


def test_a_schedule_starts_an_experiment_of_a_file_or_an_earlier_one(hemicycle: Hemicycle) -> None:
    add = ('schedule', 'add', '--every', '86400', '--json')
    added = only(invoke(hemicycle, *add, 'regressions', '--experiment', str(SAMPLE)))
    assert (added['action'], added['experiment']['dataset']) == (None, 'Sums of a bakery')
    refused = invoke(hemicycle, *add, 'both', '--experiment', str(SAMPLE), '--pattern', 'lone', code=2)
    assert 'in place of a run' in refused
    changed = only(invoke(hemicycle, 'schedule', 'change', 'regressions', '--json', *NIGHTLY))
    assert (changed['action']['pattern'], changed['experiment']) == ('pipeline', None)


def test_a_schedule_is_paused_with_a_note_that_does_not_outlast_the_pause(hemicycle: Hemicycle) -> None:
    invoke(hemicycle, 'schedule', 'add', 'nightly', *NIGHTLY)
    change = ('schedule', 'change', 'nightly', '--json')
    paused = only(invoke(hemicycle, *change, '--paused', '--note', 'holidays'))
    assert (paused['paused'], paused['note'], paused['next_times']) == (True, 'holidays', [])
    resumed = only(invoke(hemicycle, *change, '--no-paused'))
    assert (resumed['paused'], resumed['note'], bool(resumed['next_times'])) == (False, '', True)


def test_a_trigger_by_webhooks_is_added_changed_and_removed(hemicycle: Hemicycle) -> None:
    options = ('--pattern', 'pipeline', '--map', 'task=/issue/title', '--set', 'max_iterations=1')
    added = invoke(hemicycle, 'trigger', 'add', 'issues', *options)
    assert 'secret, shown only now: whsec_' in added and 'task from /issue/title' in added
    listed = invoke(hemicycle, 'trigger', 'list')
    assert listed == added.partition('    secret')[0] and '/webhook' in listed
    details = only(invoke(hemicycle, 'trigger', 'show', 'issues', '--json'))
    assert (details['kind'], details['secret'], details['paused']) == ('webhook', '', False)
    change = ('trigger', 'change', 'issues', '--json')
    changed = only(invoke(hemicycle, *change, '--map', 'task=/title', '--paused', '--tag', 'issue'))
    assert (changed['mapping'], changed['paused']) == ({'task': '/title'}, True)
    assert changed['action'] == {**details['action'], 'tags': ['issue']}
    changed = only(invoke(hemicycle, *change, '--no-paused', '--name', 'bugs'))
    assert (changed['name'], changed['paused']) == ('bugs', False)
    invoke(hemicycle, 'trigger', 'remove', 'bugs')
    assert invoke(hemicycle, 'trigger', 'list') == 'there are no triggers\n'


def test_a_trigger_by_files_is_added_and_changed(hemicycle: Hemicycle, tmp_path: Path) -> None:
    place = tmp_path / 'in'
    options = ('--files', f'{place}/*.txt', '--pattern', 'pipeline', '--map', 'task=/text')
    trigger = only(invoke(hemicycle, 'trigger', 'add', 'letters', *options, '--json'))
    assert (trigger['kind'], trigger['files'], trigger['secret']) == ('file', f'{place}/*.txt', '')
    changed = invoke(hemicycle, 'trigger', 'change', 'letters', '--files', f'{place}/*.md')
    assert f'by {place}/*.md' in changed
