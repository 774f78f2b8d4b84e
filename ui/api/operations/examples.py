"""Examples for the API's documentation: a body for each operation that takes one, and the tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OVERRIDES = {
    'instructions': {'reviewer': 'Ask for a source of each number.'},
    'models': {'writer': 'scripted'},
}
CHART = """chart: ask
initial: asking
roles: {writer: {instructions: Answer in one sentence.}}
memory: {task: string, answer: string}
parameters: {task: {type: string}}
answer: answer
states:
  asking: {agent: writer, prompt: '{{ memory.task }}', then: [{set: {answer: text}}]}
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: asking, to: done}
  - {on: failed, from: asking, to: failed}
  - {on: expired, from: asking, to: failed}
"""
EXPERIMENT = {
    'name': 'A stricter reviewer',
    'dataset': 'bakery',
    'base': {'pattern': 'pipeline'},
    'variants': [
        {'name': 'as it is'},
        {'name': 'stricter', 'change': {'instructions': {'reviewer': 'Ask for a source of each number.'}}},
    ],
    'scorers': [{'name': 'right', 'kind': 'number', 'settings': {'within': 1}}],
    'repeats': 2,
}
BODIES: Mapping[str, Any] = {
    'annotate': {'title': 'Tea or coffee?', 'tags': ['trial', 'drinks'], 'starred': True},
    'pause': {'at': 'reviewing.reviewer2'},
    'resume': {'at': ''},
    'step': {'how': 'over', 'at': ''},
    'cancel': {'reason': 'the question has been answered elsewhere'},
    'extend': {'tokens': 50_000, 'seconds': 600},
    'approve': {'at': 'researching.approving', 'always': True},
    'deny': {'at': 'researching.approving', 'reason': 'Do not fetch pages: use what is in the folder.'},
    'edit': {'changes': [{'op': 'replace', 'path': '/memory/task', 'value': 'Compare tea and mate'}]},
    'set_breakpoints': {'breakpoints': [{'enter': 'reviewing', 'when': 'loops > 1', 'once': True}]},
    'probe': {'condition': 'loops > 1'},
    'fork': {'at': 17, 'title': 'A stricter reviewer', 'overrides': OVERRIDES, 'budget': {'cost': 0.5}},
    'fork_all': {
        'at': 17,
        'variants': [
            {'name': 'as it was', 'overrides': {}},
            {'name': 'stricter', 'overrides': OVERRIDES},
        ],
    },
    'forecast': {'at': 17, 'overrides': OVERRIDES},
    'compose': {'picks': [{'path': 'spans.py', 'agent': 'one', 'hunks': [0, 2]}]},
    'test_work': {'agent': 'one'},
    'preview_merge': {'agent': 'one', 'into': 'main'},
    'merge': {'agent': 'one', 'into': 'main', 'onto': '4b825dc642cb6eb9a060e54bf8d69288fbee4904'},
    'send_back': {'agent': 'one', 'text': 'Handle empty spans too.'},
    'rerun': {'title': 'Once more', 'paused': True},
    'retry': {'budget': {'tokens': 100_000}},
    'write_note': {'at': 17, 'text': 'Here the reviewer overlooked the second source.'},
    'change_note': {'text': 'Here the reviewer overlooked both sources.'},
    'preview_cleanup': {'days': 30, 'runs': 1_000},
    'clean_up': {'days': 30, 'trash_days': 7},
    'export_bundle': {'runs': ['3f2a9c1d77be', '8896da7f1353'], 'compressed': True},
    'try_endpoint': {'model': 'gpt-5-mini'},
    'try_tool': {'arguments': {'expression': '6 * 7'}},
    'answer_question': {'event': 'approve', 'digest': '9f86d081884c7d65', 'data': {'always': True}},
    'assign_question': {'assignee': 'Ada'},
    'snooze_question': {'until': '2026-01-31T12:00:00Z'},
    'add_destination': {
        'name': 'On call',
        'channel': 'webhook',
        'address': 'https://team.example/hooks/hemicycle',
        'events': ['run.waiting', 'run.failed'],
    },
    'change_destination': {'paused': True},
    'add_schedule': {
        'name': 'Nightly',
        'action': {'pattern': 'pipeline', 'parameters': {'task': 'What is new in the repository?'}},
        'spec': {'cron': ['30 2 * * *'], 'time_zone': 'Europe/Berlin'},
        'policy': {'overlap': 'skip', 'catchup_window': 3600},
    },
    'change_schedule': {'paused': True, 'note': 'holidays'},
    'check_chart': {'text': CHART, 'name': 'ask'},
    'save_chart': {'text': CHART, 'base': '', 'note': 'ask once'},
    'restore_chart': {'version': '0a1b2c3d4e5f'},
    'rehearse': {'parameters': {'max_iterations': 1}},
    'save_dataset': {
        'cases': [
            {'id': 'loaves', 'parameters': {'task': 'How much flour do 120 loaves need?'}, 'expectation': 84}
        ],
        'note': 'the first ones',
    },
    'read_table': {
        'text': 'task,expectation\nHow much flour do 120 loaves need?,84\n',
        'pattern': 'pipeline',
    },
    'plan_experiment': EXPERIMENT,
    'start_experiment': EXPERIMENT,
    'cancel_experiment': {'reason': 'the dataset has a mistake'},
    'rescore_experiment': {'scorers': [{'name': 'right', 'kind': 'number', 'settings': {'within': 1}}]},
    'adopt_variant': {'variant': 'stricter reviewer', 'kind': 'version'},
    'mark_cell': {'cell': '9f86d081884c7d65', 'value': 1, 'comment': 'short and right'},
    'backfill_schedule': {'since': '2026-03-01T00:00:00Z', 'until': '2026-03-08T00:00:00Z'},
    'add_trigger': {
        'name': 'Issues',
        'kind': 'webhook',
        'action': {'pattern': 'pipeline'},
        'mapping': {'task': '/issue/title'},
    },
    'change_trigger': {'paused': True},
    'save_endpoint': {'values': {'url': 'https://models.team.example/v1', 'key': 'env:TEAM_KEY'}},
    'save_mcp_server': {'values': {'url': 'https://docs.team.example/mcp'}},
    'add_account': {'name': 'ada', 'role': 'operator', 'password': 'four small grey horses'},
    'set_role': {'role': 'viewer'},
    'set_password': {'password': 'five small grey horses', 'revoke_tokens': True},
    'add_token': {'name': 'ada', 'label': 'nightly job', 'role': 'viewer', 'days': 30},
    'receive_webhook': {'issue': {'title': 'It does not print'}},
    'run_with_agui': {
        'threadId': 'thread-1',
        'runId': 'run-1',
        'state': {},
        'messages': [{'id': 'm1', 'role': 'user', 'content': 'Compare tea and coffee'}],
        'tools': [],
        'context': [],
        'forwardedProps': {'parameters': {'max_iterations': 2}},
    },
}
"""By operation; bodies whose models have their own examples are left out."""
START_OPTIONS = {'name': 'StartOptions', 'text': 'How a new run starts.'}
PART = {'name': 'Region', 'text': 'A part of a run.'}
LEFT_OUT = 'fields that are left out stay as they are.'
BODY_TEXTS: Mapping[str, Mapping[str, Any]] = {
    'send': {
        'name': 'Sent',
        'text': 'An event from outside.',
        'examples': [
            {'name': 'approve', 'at': 'working.approving'},
            {'name': 'answer', 'at': 'working.asking', 'data': {'content': {'name': 'Ada'}}},
            {
                'name': 'say',
                'data': {'reviewer': 'reviewer2', 'text': 'I ran the tests.', 'verdict': 'APPROVE'},
            },
        ],
    },
    'pause': PART,
    'resume': PART,
    'step': {'name': 'StepRequest', 'text': 'How far to continue.'},
    'cancel': {'name': 'Reason', 'text': 'The reason for an action.'},
    'extend': {'name': 'Increase', 'text': 'How much to raise a budget by.'},
    'approve': {'name': 'Approval', 'text': 'Approval of the tool calls that are waiting.'},
    'deny': {'name': 'Denial', 'text': 'Denial of the tool calls that are waiting.'},
    'edit': {'name': 'Edit', 'text': 'Changes to a paused run.'},
    'set_breakpoints': {'name': 'Breakpoints', 'text': 'All breakpoints of a run.'},
    'probe': {'name': 'Condition', 'text': 'A condition of a breakpoint.'},
    'fork': {'name': 'NewFork', 'text': 'A fork: where it starts, and what is different.'},
    'forecast': {'name': 'ForecastRequest', 'text': 'A fork that is not started.'},
    'rerun': START_OPTIONS,
    'retry': START_OPTIONS,
    'send_back': {'name': 'SentBack', 'text': 'A message to an agent about its work.'},
    'check_chart': {'name': 'CheckedText', 'text': 'A text that may be a chart.'},
    'save_chart': {'name': 'SavedText', 'text': 'The text of a chart, and what its writer has seen.'},
    'restore_chart': {'name': 'EarlierVersion', 'text': 'The version that is to be current.'},
    'try_endpoint': {'name': 'EndpointTest', 'text': 'How an endpoint is tested.'},
    'try_tool': {'name': 'Arguments', 'text': 'The arguments of a tool call.'},
    'answer_question': {'name': 'AnswerInput', 'text': 'An answer to a question.'},
    'assign_question': {'name': 'Assigned', 'text': 'The person who is to answer.'},
    'add_destination': {'text': 'A destination.'},
    'change_destination': {'text': f'Changes to a destination; {LEFT_OUT}'},
    'add_schedule': {'text': 'A schedule.'},
    'change_schedule': {'text': f'Changes to a schedule; {LEFT_OUT}'},
    'start_experiment': {'name': 'NewExperiment', 'text': 'An experiment.'},
    'plan_experiment': {'name': 'PlannedExperiment', 'text': 'An experiment that is not started.'},
    'read_table': {'name': 'TableText', 'text': 'A table with cases.'},
    'save_dataset': {'name': 'NewVersion', 'text': 'A version of a dataset.'},
    'cancel_experiment': {'name': 'Cancellation', 'text': 'Why an experiment is cancelled.'},
    'rescore_experiment': {'name': 'Scorers', 'text': 'How runs are scored.'},
    'adopt_variant': {'name': 'Adopted', 'text': 'The variant that becomes the default.'},
    'mark_cell': {'name': 'NewMark', 'text': 'What a person thinks of a run.'},
    'add_trigger': {'text': 'A trigger.'},
    'change_trigger': {'text': f'Changes to a trigger; {LEFT_OUT}'},
}
"""By derived operation: what its body is called and described as, where not as the operation itself."""
TAGS = (
    ('Patterns', 'What can be run, with its parameters and its chart.'),
    ('Charts', 'Patterns that are files: read, checked, saved, and their versions.'),
    ('Runs', 'Starting runs, and reading them at any step.'),
    ('Streams', 'Runs as they happen: server-sent events, a WebSocket, and AG-UI.'),
    ('Steering', 'Events, answers, pauses, steps, breakpoints, budgets, edits.'),
    ('Inbox', 'Questions to people across all runs, each answered once.'),
    ('Notifications', 'Who is notified of events, and what was sent.'),
    ('Schedules', 'Runs started by the clock, by a webhook, or by a file that arrives.'),
    ('Forks', 'New runs from a step of another, and how runs are related.'),
    ('Merging', "Agents' work: composed, tested, merged into its project, or sent back."),
    ('History', 'Runs compared, counted, replayed, and saved as tests.'),
    ('Experiments', 'Datasets, and variants of a workflow run on their cases: which is better?'),
    ('Files', 'The files of agents at a step, and what changed.'),
    ('Notes', 'Titles, tags, notes, stars and pins.'),
    ('Retention', 'The trash, the retention policy, and disk usage.'),
    ('Sharing', 'Runs as files, and files as runs.'),
    ('Models', 'Models and where they come from.'),
    ('Tools', "Agents' tools, and the MCP servers that provide some of them."),
    ('Accounts', 'Who may log in, and the tokens of programs.'),
    ('Server', 'The server itself.'),
)
"""In the order of the documentation."""
