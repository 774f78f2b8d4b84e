"""The command line: runs, lists, shows and audits; what it prints, and its exit codes."""

import json
import re
import uuid
from pathlib import Path

import pytest

from engine import Status
from tests.support.cli import Hemicycle, all_commands, json_lines
from ui.cli.commands import PANELS, Verb
from ui.cli.exit_codes import ExitCode
from ui.formatting.values import ORIGIN_NOTES


def test_help_names_every_command_and_gives_examples(hemicycle: Hemicycle) -> None:
    shown = {'': hemicycle('--help').stdout}
    for name in all_commands():
        shown[name] = output = hemicycle(*name.split(), '--help').stdout
        # What people do not type shows how clients are configured.
        examples = output.partition('Examples')[2] or output.partition('In the ')[2]
        assert 'hemicycle' in examples, name
        assert not re.search(r'```|<(bool|str|int|float|list|path)', output), output
        group, _, own = name.rpartition(' ')
        assert f' {own} ' in shown[group], name


SYNONYMS = {
    'create', 'delete', 'describe', 'edit', 'get', 'ls', 'new', 'revoke', 'rm', 'set', 'try', 'update',
    'view',
}  # fmt: skip
"""Words for which every group says add, change, remove, list, show and test instead."""


def test_commands_have_one_grammar() -> None:
    commands = all_commands()
    for name, command in commands.items():
        words = getattr(command, 'commands', {}).keys()
        arguments = [part.name for part in command.params if part.param_type_name == 'argument']
        assert not {'operation', 'action', 'verb', 'command'} & {*arguments}, name
        assert not words & SYNONYMS, name
        assert not words or 'list' in words or name in ('test', 'database'), name
        assert 'remove' in words or 'add' not in words, name
        assert words != {'list'}, name
    assert not any(name.split()[-1] in SYNONYMS for name in commands)
    assert len([name for name in commands if ' ' not in name]) <= 27, 'the top stays short'


def test_the_help_lists_each_command_with_the_beginning_of_its_own_help() -> None:
    verbs = {
        name: entry for panel in PANELS.values() for name, entry in panel.items() if isinstance(entry, Verb)
    }
    for name, verb in verbs.items():
        beginning, _, _ = all_commands()[name].help.partition('\n\n')
        assert verb.summary == ' '.join(beginning.split())


LOCAL = {
    'serve', 'worker', 'mcp-server sign-in', 'doctor', 'database', 'user log', 'chart export', 'chart schema',
}  # fmt: skip
"""Commands that concern only this machine: its server, its files, its credentials, its Python."""


def test_every_other_command_can_be_given_to_a_server() -> None:
    for name, command in all_commands().items():
        if not hasattr(command, 'commands'):
            named = any('--server' in parameter.opts for parameter in command.params)
            assert named is not bool({name, name.split()[0]} & LOCAL), name


def test_a_run_prints_progress_to_stderr_and_its_answer_to_stdout(hemicycle: Hemicycle) -> None:
    result = hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee')
    assert result.exit_code == 0
    assert '# ' in result.stdout
    assert 'researching → analyzing' not in result.stdout
    assert 'pending → researching (automatic)' in result.stderr
    assert 'reviewing │' in result.stderr
    assert 'reviewing → complete: the reviewer approved' in result.stderr
    assert 'simulated' in result.stderr
    assert 'is done' in result.stderr


def test_both_sides_of_a_comparison_are_shown(hemicycle: Hemicycle) -> None:
    ended = hemicycle('run', 'blog', '--task', 'On bees', '--set', 'mode=compare', '-q')
    assert ended.exit_code == 0
    for output in (ended.stdout, hemicycle('show', 'last').stdout):
        dynamic, fixed = output.partition('Compared: dynamic')[2].split('Compared: fixed')
        assert 'complete, 1 step, 0 tool calls' in dynamic and '# On bees' in dynamic
        assert 'complete, 12 steps, 7 tool calls' in fixed and '## Options' in fixed


def test_an_empty_plan_is_named(hemicycle: Hemicycle) -> None:
    objective = "Last week's delivery note has been approved and sent; is there anything left to do about it?"
    for task, named in ((objective, True), ('Compare tea and coffee', False)):
        ended = hemicycle('run', 'supervisor', '--task', task)
        assert ('the plan is empty' in ended.stderr) is named


def test_quiet_prints_only_the_answer(hemicycle: Hemicycle) -> None:
    result = hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--quiet')
    assert (result.exit_code, result.stderr) == (0, ORIGIN_NOTES['simulated'] + '\n')
    assert result.stdout.startswith('#')


def test_output_of_a_simulated_run_says_so(hemicycle: Hemicycle) -> None:
    assert (
        ORIGIN_NOTES['simulated'] in hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee').stderr
    )
    outcome = hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--json').stdout.splitlines()[
        -1
    ]
    assert json.loads(outcome)['origins'] == ['simulated']
    assert '*Simulated:' in hemicycle('runs', 'export', 'last', '--markdown', '-o', '-').stdout


BAKERY = (
    "Forecast next year's revenue for a bakery from its sales in January (41,200 euros), February"
    ' (39,800 euros) and March (44,600 euros).'
)


def test_an_unapproved_result_has_its_own_exit_code(hemicycle: Hemicycle) -> None:
    result = hemicycle('run', 'pipeline', '--task', BAKERY, '--set', 'max_iterations=1', '-q')
    assert result.exit_code == ExitCode.DONE_WITH_ISSUES == 6
    assert result.stdout.strip() and 'is done with issues: not approved after 1 revision' in result.stderr
    assert 'done with issues' in hemicycle('runs', 'list').stdout
    run = json.loads(hemicycle('runs', 'list', '--json').stdout.splitlines()[0])
    assert (run['status'], run['error']) == ('done', 'not approved after 1 revision')
    output = hemicycle('show', run['id']).stdout
    assert 'done with issues' in output and 'not approved after 1 revision' in output


def test_json_prints_every_transition_and_then_the_outcome(hemicycle: Hemicycle) -> None:
    result = hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--json')
    *steps, outcome = json_lines(result.stdout)
    assert [step['seq'] for step in steps] == list(range(1, len(steps) + 1))
    assert {step['type'] for step in steps} == {'transition'}
    assert steps[0]['event']['name'] == 'start'
    assert (outcome['type'], outcome['status'], outcome['seq']) == ('outcome', 'done', len(steps))
    assert outcome['answer'] == outcome['memory']['analysis'] != ''


def test_the_task_may_come_from_standard_input(hemicycle: Hemicycle) -> None:
    assert hemicycle('run', 'pipeline', '--task', '-', '-q', stdin='Compare tea and coffee').exit_code == 0
    info = hemicycle.newest()
    assert info.parameters['task'] == 'Compare tea and coffee'
    marked = '\ufeffCompare tea and coffee'  # as PowerShell writes to a pipe
    assert hemicycle('run', 'pipeline', '--task', '-', '-q', stdin=marked).exit_code == 0
    assert hemicycle.newest().parameters['task'] == 'Compare tea and coffee'


def test_options_reach_the_run(hemicycle: Hemicycle) -> None:
    options = ('--title', 'A title', '--tag', 'a', '--tag', 'b', '--seed', '7', '--set', 'max_iterations=1')
    options += ('--approvals', 'none')
    assert hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q', *options).exit_code == 0
    info = hemicycle.newest()
    assert (info.title, info.tags, info.seed) == ('A title', ('a', 'b'), 7)
    assert info.options == {'approvals': 'none'}
    assert info.parameters['max_iterations'] == 1


def test_a_list_is_set_as_json(hemicycle: Hemicycle) -> None:
    calls = hemicycle.home / 'calls'
    values = (f'calls={calls}', 'steps=2', 'pause=0', 'unit=["a", "b"]')
    options = [part for value in values for part in ('--set', value)]
    result = hemicycle('run', 'counting', *options, '--patterns', str(hemicycle.patterns), '--quiet')
    assert (result.exit_code, result.stdout) == (0, '2\n')
    info = hemicycle.newest()
    assert info.parameters['unit'] == ['a', 'b']


def test_a_failed_run_shows_the_reason(hemicycle: Hemicycle) -> None:
    result = hemicycle('run', 'failing', '--patterns', str(hemicycle.patterns))
    assert result.exit_code == 1
    assert 'the well is dry' in result.stderr.splitlines()[-2]
    assert hemicycle('run', 'failing', '--patterns', str(hemicycle.patterns), '-q').stderr.count('\n') == 1


def test_a_run_that_waits_for_a_person_is_released(hemicycle: Hemicycle) -> None:
    result = hemicycle('run', 'asking', '--patterns', str(hemicycle.patterns), '--quiet')
    assert result.exit_code == 4
    assert 'is waiting for a person: a word' in result.stderr
    info = hemicycle.newest()
    assert info.status is Status.WAITING


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('nope',), "no pattern 'nope'; available: "),
        (('pipeline',), 'task: Field required; it takes: text, '),
        (('pipeline', '--task', ' '), 'task: '),
        (('pipeline', '--task', 'x' * 20_001), 'task: '),
        (('pipeline', '--task', 'tea', '--set', 'max_iterations=11'), '; it takes: whole number, 0 to 10'),
        (
            ('pipeline', '--task', 'tea', '--set', 'max=1'),
            'max: there is no such parameter; pipeline takes task',
        ),
        (('pipeline', '--task', 'tea', '--set', 'task=tea'), 'task: is set twice'),
        (('pipeline', '--set', 'task'), '--set: must be name=value'),
        (('pipeline', '--task', 'tea', '--synchronous', 'off'), '--synchronous: must be normal or full'),
    ],
)
def test_bad_input_is_refused_in_one_line(
    hemicycle: Hemicycle, arguments: tuple[str, ...], message: str
) -> None:
    result = hemicycle('run', *arguments)
    assert (result.exit_code, result.stdout) == (2, '')
    assert result.stderr.startswith('hemicycle: ')
    assert result.stderr.count('\n') == 1
    assert message in result.stderr
    assert not hemicycle.database.exists()


def test_model_output_cannot_control_the_terminal(hemicycle: Hemicycle) -> None:
    title = 'red \x1b[31m and \x9b31m and \u202e back'
    hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--title', title, '-q')
    for arguments in (('runs', 'list'), ('show', 'last')):
        output = hemicycle(*arguments).stdout
        assert 'red [31m and 31m and' in output
        assert not {'\x1b', '\x9b', '\u202e'} & set(output)


def test_traffic_is_printed_in_tables_and_as_json(done: Hemicycle) -> None:
    output = done('pattern', 'traffic', 'pipeline').stdout
    assert output.startswith('1 runs: 1 done') and 'reviewing → analyzing' in output
    data = json.loads(done('pattern', 'traffic', 'pipeline', '--tag', 'demo', '--json').stdout)
    states = {state['path']: state['visits'] for state in data['states']}
    assert (data['runs'], states['analyzing'], states['complete']) == (1, 2, 1)
    assert {'source': 'reviewing', 'dest': 'analyzing', 'times': 1, 'runs': 1} in data['edges']
    assert 'analyzing' in data['shapes'][0]['states']
    assert done('pattern', 'traffic', 'pipeline', '--until', '2001-01-01').stdout == 'no runs match\n'
    assert done('pattern', 'traffic', 'vote').stdout == 'no runs of vote yet\n'


def test_runs_are_filtered_by_edge_and_state(done: Hemicycle) -> None:
    assert 'Compare tea and coffee' in done('runs', 'list', '--edge', 'reviewing>analyzing').stdout
    assert done('runs', 'list', '--edge', 'reviewing>failed').stdout == 'no runs match\n'
    assert 'Compare tea and coffee' in done('runs', 'list', '--state', 'reviewing').stdout
    assert done('runs', 'list', '--state', 'reviewing', '--failed').stdout == 'no runs match\n'


def test_runs_are_listed_and_filtered(done: Hemicycle) -> None:
    info = done.newest()
    assert f'{info.id}  done    pipeline' in done('runs', 'list').stdout
    for matching in (
        ('--pattern', 'pipeline'),
        ('--status', 'done'),
        ('--tag', 'demo'),
        ('--search', 'coff'),
    ):
        assert json.loads(done('runs', 'list', *matching, '--json').stdout)['id'] == info.id
    for other in (('--pattern', 'debate'), ('--status', 'failed'), ('--tag', 'x'), ('--search', 'milk')):
        assert done('runs', 'list', *other).stdout == 'no runs match\n'


def test_reading_creates_no_database(hemicycle: Hemicycle) -> None:
    assert 'there are no runs yet' in hemicycle('runs', 'list').stdout
    result = hemicycle('show', 'last')
    assert (result.exit_code, result.stderr) == (2, "hemicycle: there is no run 'last'\n")
    assert not hemicycle.database.exists()


def test_a_run_is_found_by_a_prefix_of_its_id(done: Hemicycle) -> None:
    info = done.newest()
    for name in ('last', info.id, info.id[:4]):
        assert json.loads(done('show', name, '--json').stdout)['run']['id'] == info.id


def test_an_ambiguous_id_is_refused(hemicycle: Hemicycle, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('a1b2c3d4e5f6', 'a7b8c9d0e1f2'):
        monkeypatch.setattr(uuid, 'uuid4', lambda name=name: uuid.UUID(f'{name}{"0" * 20}'))
        hemicycle('run', 'asking', '--patterns', str(hemicycle.patterns), '-q')
    result = hemicycle('show', 'a')
    assert result.exit_code == 2
    assert "runs begin with 'a': a" in result.stderr
    assert hemicycle('show', 'a1').exit_code == 0


def test_a_whole_run_is_shown(done: Hemicycle) -> None:
    output = done('show').stdout
    for part in (
        'States',
        '> complete',
        'Steps',
        'reviewing: reviewer',
        'reviewing → complete: the reviewer approved',
        'Memory',
        'approved: true',
    ):
        assert part in output


def test_one_step_is_shown_with_guards_and_changes(done: Hemicycle) -> None:
    info = done.newest()
    last = info.seq
    output = done('show', '--at', str(last)).stdout
    assert f'Step {last}' in output
    assert 'reviewing → complete: the reviewer approved' in output
    assert 'Approved: yes (approved = true)' in output
    assert 'to analyzing: not checked: an earlier one applied' in output
    assert 'replace /memory/status COMPLETE' in output
    early = json.loads(done('show', '--at', '2', '--json').stdout)
    assert [step['seq'] for step in early['transitions']] == [2]
    assert early['view']['active'] == ['researching.thinking']
    result = done('show', '--at', str(last + 1))
    assert (result.exit_code, f'its last is {last}' in result.stderr) == (2, True)


def test_an_audit_passes(done: Hemicycle) -> None:
    info = done.newest()
    result = done('runs', 'audit', info.id[:6])
    assert (result.exit_code, result.stdout) == (
        0,
        f'run {info.id} is ok: {info.seq} steps, all decided as recorded\n',
    )


def test_an_audit_names_the_first_divergence(hemicycle: Hemicycle) -> None:
    hemicycle('run', 'failing', '--patterns', str(hemicycle.patterns), '-q')
    file = hemicycle.patterns / 'odd.py'
    file.write_text(
        file.read_text().replace("['failed', 'working', 'broken']", "['failed', 'working', 'ended']")
    )
    result = hemicycle('runs', 'audit', '--patterns', str(hemicycle.patterns))
    assert (result.exit_code, result.stdout) == (1, '')
    assert 'diverges at step 2' in result.stderr


def test_patterns_are_listed_with_the_faults_of_files(hemicycle: Hemicycle) -> None:
    (hemicycle.patterns / 'broken.py').write_text('x = 1\nthis is no Python\n')
    output = hemicycle('pattern', 'list', '--patterns', str(hemicycle.patterns)).stdout
    assert '--set task= or --task' in output
    assert 'whole number, 0 to 10, 3 by default' in output
    assert 'counting' in output
    assert f'not loaded: {hemicycle.patterns / "broken.py"}:2: SyntaxError' in output


def test_a_file_that_does_not_load_is_named_when_its_pattern_is_requested(hemicycle: Hemicycle) -> None:
    broken = hemicycle.patterns / 'broken.py'
    broken.write_text('x = 1\nthis is no Python\n')
    result = hemicycle('run', 'broken', '--patterns', str(hemicycle.patterns))
    assert (result.exit_code, result.stdout) == (ExitCode.REFUSED, '')
    message = ' '.join(result.stderr.split())
    assert "there is no pattern 'broken'; available: " in message and ', counting, ' in message
    assert f'not loaded: {broken}, line 2: SyntaxError: invalid syntax' in message


def test_the_version_is_printed(hemicycle: Hemicycle) -> None:
    assert hemicycle('--version').stdout.startswith('hemicycle ')


def test_a_recorded_run_is_replayed(hemicycle: Hemicycle) -> None:
    arguments = ('--task', 'Compare tea and coffee', '--set', 'max_iterations=1')
    first = hemicycle('run', 'pipeline', *arguments, '-q', '--record')
    recorded = hemicycle.newest()
    assert recorded.options == {'record': True}
    result = hemicycle('run', 'pipeline', '-q', '--replay', 'last')
    assert (result.exit_code, result.stdout) == (first.exit_code, first.stdout) == (0, first.stdout)
    info = hemicycle.newest()
    assert (info.options['replay'], info.parameters) == (recorded.id, recorded.parameters)
    other = hemicycle('run', 'pipeline', '-q', '--replay', recorded.id, '--task', 'Compare milk and water')
    assert other.exit_code == 1 and 'no answer (left) to this request: the nearest differs' in other.stderr
    assert 'has no recording' in hemicycle('run', 'pipeline', '--replay', 'last').stderr


def test_a_budget_ends_a_run_and_is_shown(hemicycle: Hemicycle) -> None:
    task = ('run', 'pipeline', '--task', 'Compare tea and coffee')
    result = hemicycle(*task, '--budget-tokens', '1500', '--budget-seconds', '3600')
    assert result.exit_code != 0 and 'its budget of 1,500 tokens is spent' in result.stderr
    output = hemicycle('show', 'last').stdout
    assert 'tokens budget: 0 of 1,500 left, used up' in output and 'of 1:00:00' in output
    assert 'calls · simulated' in output
    refused = hemicycle(*task, '--budget-cost', '0')
    assert refused.exit_code == 2 and 'budget.cost: must be a number above 0' in refused.stderr


def test_a_diagram_is_printed_or_written_in_each_format(hemicycle: Hemicycle, tmp_path: Path) -> None:
    result = hemicycle('pattern', 'draw', 'supervisor')
    assert (result.exit_code, result.stderr) == (0, '') and result.stdout.startswith('stateDiagram-v2\n')
    assert 'planning --> executing: pending tasks' in result.stdout and 'thinking' in result.stdout
    file = tmp_path / 'chart.gv'
    options = ('--set', 'execution=side by side', '--set', 'workers=2', '--folded')
    written = hemicycle('pattern', 'draw', 'supervisor', '--format', 'dot', '--output', str(file), *options)
    assert (written.exit_code, written.stdout) == (0, '')
    assert 'worker_2' in file.read_text('utf-8') and 'worker_3' not in file.read_text('utf-8')


def test_the_report_of_a_time_bounded_run_is_shown_as_markdown_and_as_data(hemicycle: Hemicycle) -> None:
    goal = 'primary_goal=Write a CSV export of the customer list'
    assert hemicycle('run', 'time-bounded', '--set', goal, '--quiet').exit_code == 1
    result = hemicycle('show', 'last', '--report')
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith('# Write a CSV export') and '**Aborted.**' in result.stdout
    assert 'FINAL WARNING' in result.stdout
    report = json.loads(hemicycle('show', 'last', '--report', '--json').stdout)['report']
    assert report['outcome'] == 'aborted' and report['metrics']['total_steps'] == 2
    early = hemicycle('show', 'last', '--report', '--at', '4').stdout
    assert 'No plan was adopted' in early


def test_accounts_are_managed_by_a_user_without_a_name(
    hemicycle: Hemicycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('os.getuid', lambda: 2**31)  # As `docker run --user`; it may be unknown there.
    for name in ('LOGNAME', 'USER', 'LNAME', 'USERNAME'):
        monkeypatch.delenv(name, raising=False)
    result = hemicycle('user', 'add', 'ada', '--no-password')
    assert (result.exit_code, result.stdout) == (
        0,
        'ada is an admin: the first account is an administrator\n',
    )
    assert json.loads(hemicycle('user', 'log', '--json').stdout)['who'] == 'uid-2147483648@terminal'
