"""A hand-written agent; its argument selects how it behaves. Standard library only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUMBERS = iter(range(1, 1_000_000))
SESSION = 's1'
MODE = ['auto']
"""The agent's current mode; in `auto`, it asks nobody."""


def put(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({'jsonrpc': '2.0', **message}) + '\n')
    sys.stdout.flush()


def update(name: str, /, **fields: Any) -> None:
    put(
        {
            'method': 'session/update',
            'params': {'sessionId': SESSION, 'update': {'sessionUpdate': name, **fields}},
        }
    )


def say(text: str) -> None:
    update('agent_message_chunk', content={'type': 'text', 'text': text})


def text_content(text: str) -> dict[str, Any]:
    return {'type': 'content', 'content': {'type': 'text', 'text': text}}


def take() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    return dict(json.loads(line))


def ask(method: str, **params: Any) -> Any:
    """Send a request and return its result, or the error's details."""
    number = next(NUMBERS)
    put({'id': number, 'method': method, 'params': {'sessionId': SESSION, **params}})
    while True:
        message = take()
        if message.get('id') == number and 'method' not in message:
            if (error := message.get('error')) is None:
                return message.get('result')
            return f'refused: {(error.get("data") or {}).get("details", error["message"])}'


def permission(name: str, title: str = 'rm -r build', kind: str = 'execute', **fields: Any) -> bool:
    options = [
        {'optionId': 'y', 'name': 'Yes', 'kind': 'allow_once'},
        {'optionId': 'n', 'name': 'No', 'kind': 'reject_once'},
    ]
    call = {'toolCallId': name, 'title': title, 'kind': kind, **fields}
    answer = ask('session/request_permission', toolCall=call, options=options)
    return bool(answer['outcome'].get('optionId') == 'y')


def note(text: str) -> None:
    """Append a line to a file for the test."""
    with open('log.txt', 'a', encoding='utf-8') as file:
        file.write(f'{text}\n')


# Behaviors during a turn


def hang(prompt: str) -> None:
    say('I am')
    time.sleep(1_000)


def flood(prompt: str) -> None:
    while True:
        say('x' * 10_000)


def long_line(prompt: str) -> None:
    while True:
        sys.stdout.write('x' * 1_000_000)


def die(prompt: str) -> None:
    say('I am about to')
    sys.stderr.write('out of luck\n')
    os._exit(7)


def children(prompt: str) -> None:
    """Start a child and one that detaches from its parent, then hang."""
    plain = subprocess.Popen(['sleep', '1000'])
    script = 'setsid sleep 1000 >/dev/null 2>&1 & echo $!'
    other = subprocess.run(['sh', '-c', script], capture_output=True, text=True, check=True).stdout.strip()
    update(
        'tool_call', toolCallId='c1', title='sleep', kind='execute', status='in_progress', rawInput={'n': 1}
    )
    Path('pids.txt').write_text(f'{os.getpid()} {plain.pid} {other}')
    time.sleep(1_000)


def outside(prompt: str) -> None:
    for method, fields in (
        ('fs/read_text_file', {'path': '/etc/passwd'}),
        ('fs/read_text_file', {'path': f'{os.getcwd()}/../secret'}),
        ('fs/write_text_file', {'path': '/etc/hemicycle', 'content': 'x'}),
        ('fs/write_text_file', {'path': '../other', 'content': 'x'}),
        ('terminal/create', {'command': 'true', 'cwd': '/'}),
    ):
        say(f'{method}: {ask(method, **fields)}\n')


def roams(prompt: str) -> None:
    """Try to write to the folder that the prompt names, through the protocol and directly."""
    target = prompt.partition('Go to ')[2].split()[0]
    say(f'{ask("fs/write_text_file", path=f"{target}/evil.txt", content="x")}\n')
    terminal = ask('terminal/create', command=f'echo x > {target}/evil.txt')['terminalId']
    code = ask('terminal/wait_for_exit', terminalId=terminal)['exitCode']
    say(f'the terminal {"wrote" if code == 0 else "was refused"}\n')
    for path in (f'{target}/mine.txt', f'{target}/evil.txt', f'{os.getcwd()}/../other/evil.txt'):
        try:
            Path(path).write_text('x')
            say(f'it wrote {path}\n')
        except OSError as error:
            say(f'{error}\n')


def asks(prompt: str) -> None:
    update('tool_call', toolCallId='c1', title='rm -r build', kind='execute', status='pending',
           rawInput={'command': 'rm -r build'})  # fmt: skip
    allowed = permission('c1', rawInput={'command': 'rm -r build'})
    if allowed:
        Path('removed.txt').write_text('yes')
    update('tool_call_update', toolCallId='c1', status='completed' if allowed else 'failed',
           content=[text_content(f'allowed: {allowed}')])  # fmt: skip
    say(f'allowed: {allowed}')


def asks_and_hangs(prompt: str) -> None:
    """Ask about a command, and report nothing more while it runs, as Gemini does."""
    permission('c1')
    time.sleep(1_000)


def asks_in_manual(prompt: str) -> None:
    """Ask only in one of its modes."""
    allowed = MODE == ['auto'] or permission('c1')
    say(f'{MODE[0]}: {allowed}, {os.environ.get("ODD_ASKS", "no variable")}')


def asks_late(prompt: str) -> None:
    """Ask about a call that is already running."""
    update('tool_call', toolCallId='c1', title='rm -r build', kind='execute', status='in_progress',
           rawInput={'command': 'rm -r build'})  # fmt: skip
    time.sleep(1.5)
    allowed = permission('c1', rawInput={'command': 'rm -r build'})
    update('tool_call_update', toolCallId='c1', status='completed' if allowed else 'failed')
    say(f'allowed: {allowed}')


def writes(prompt: str) -> None:
    ask('fs/write_text_file', path=f'{os.getcwd()}/a.txt', content='one\ntwo\n')
    text = ask('fs/read_text_file', path=f'{os.getcwd()}/a.txt', line=2, limit=1)['content']
    terminal = ask('terminal/create', command='cat', args=['a.txt'])['terminalId']
    update('tool_call', toolCallId='c1', title='cat', kind='execute', status='in_progress',
           content=[{'type': 'terminal', 'terminalId': terminal}])  # fmt: skip
    code = ask('terminal/wait_for_exit', terminalId=terminal)['exitCode']
    ask('terminal/release', terminalId=terminal)
    update('tool_call_update', toolCallId='c1', status='completed')
    say(f'{text.strip()} {code}')


def runs_itself(prompt: str) -> None:
    """Run a command in the agent's own terminal, as Codex does: the output comes as metadata only."""
    own = {'terminal_id': 'c1'}
    update('tool_call', toolCallId='c1', title='make', kind='execute', status='in_progress',
           rawInput={'command': 'make'}, content=[{'type': 'terminal', 'terminalId': 'c1'}],
           _meta={'terminal_info': {'cwd': '/workspace', **own}})  # fmt: skip
    for text in ('one\n', 'two\n'):
        update('tool_call_update', toolCallId='c1', _meta={'terminal_output_delta': {'data': text, **own}})
    update('tool_call_update', toolCallId='c1', status='failed',
           _meta={'terminal_exit': {'exit_code': 2, 'signal': None, **own}})  # fmt: skip
    update('tool_call', toolCallId='c2', title='List files', kind='read', status='in_progress', rawInput={})
    update('tool_call_update', toolCallId='c2', _meta={'terminal_output': {'data': 'a.txt', **own}})
    update('tool_call_update', toolCallId='c2', status='completed', rawOutput={'exit_code': 0})
    say('made')


def counts(prompt: str) -> None:
    say('counted')
    update('usage_update', used=500, size=1_000, cost={'amount': 0.25, 'currency': 'USD'})


def counts_calls(prompt: str) -> None:
    say('x')
    update('usage_update', used=12, size=1_000)
    update('tool_call', toolCallId='c1', title='count', kind='read', status='completed', rawOutput='x' * 999)
    say('counted')


def signs_in(prompt: str) -> Any:
    return {'code': -32_000, 'message': 'Authentication required'}


def hit_limit(prompt: str) -> Any:
    return {'code': -32_603, 'message': f'Claude AI usage limit reached|{int(time.time()) + 30}'}


def hit_limit_once(prompt: str) -> Any:
    """Hit a usage limit of an hour in the first turn; work in the second."""
    if Path('limited.txt').exists():
        return say('worked after the limit')
    Path('limited.txt').write_text('yes')
    return {'code': -32_603, 'message': f'Claude AI usage limit reached|{int(time.time()) + 3_600}'}


def echoes(prompt: str) -> None:
    say(f'I was told: {prompt}')


def dies_once(prompt: str) -> None:
    """Die during a tool call at the first start; continue at the second."""
    note(f'prompt: {prompt}')
    if Path('second.txt').exists():
        say('finished')
        return
    update('tool_call', toolCallId='c1', title='write', kind='edit', status='completed')
    Path('half.txt').write_text('half')
    time.sleep(0.5)
    Path('second.txt').write_text('x')
    os._exit(9)


def chatters(prompt: str) -> None:
    for number in range(int(os.environ['PIECES'])):
        say(f'piece {number} ')


def plain(prompt: str) -> None:
    update('plan', entries=[{'content': 'Answer', 'priority': 'high', 'status': 'in_progress'}])
    update('agent_thought_chunk', content={'type': 'text', 'text': 'Hm.'})
    say('one ')
    say('two')


TURNS: dict[str, Callable[[str], Any]] = {
    name: turn
    for name, turn in list(globals().items())
    if callable(turn) and name in (
        'hang', 'flood', 'long_line', 'die', 'children', 'outside', 'asks', 'asks_late', 'writes', 'counts',
        'signs_in', 'hit_limit', 'hit_limit_once', 'echoes', 'dies_once', 'plain', 'roams', 'chatters',
        'runs_itself', 'asks_in_manual', 'counts_calls', 'asks_and_hangs',
    )
}  # fmt: skip


def before(mode: str) -> None:
    """Misbehave before the first request, or do nothing."""
    if mode == 'exits':
        sys.stderr.write('no licence\n')
        sys.exit(3)
    while mode == 'garbage':
        print('Welcome to the best agent!', flush=True)
    if mode == 'greets':
        print('Welcome!', flush=True)


def modes(how: str) -> dict[str, Any]:
    """Return the agent's modes in the older or the newer format."""
    choices = [{'id': name, 'value': name, 'name': name.title()} for name in ('auto', 'manual')]
    if how == 'by_option':
        option = {'id': 'how', 'name': 'How', 'category': 'mode', 'type': 'select', 'currentValue': MODE[0]}
        return {'configOptions': [{**option, 'options': choices}]}
    return {'modes': {'currentModeId': MODE[0], 'availableModes': choices}} if how == 'by_mode' else {}


def takes(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Sign in, or switch to another mode."""
    if method == 'authenticate':
        note(f'signed in by {params["methodId"]}')
        return {}
    MODE[:] = [params.get('modeId') or params['value']]
    return {'configOptions': []} if 'configId' in params else {}


def answer(mode: str, loads: bool, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request: a result or an error."""
    if method == 'initialize':
        can = {'agentCapabilities': {'loadSession': loads}, 'agentInfo': {'name': 'odd', 'version': '7'}}
        methods = {'authMethods': [{'id': 'browser', 'name': 'B'}, {'id': 'api-key', 'name': 'Key'}]}
        if not params.get('clientCapabilities', {}).get('fs', {}).get('readTextFile'):
            note('reads by itself')
        return {'result': {'protocolVersion': 0 if mode == 'old' else 1, **can, **methods}}
    if method in ('authenticate', 'session/set_mode', 'session/set_config_option'):
        return {'result': takes(method, params)}
    if method == 'session/new' and mode == 'wants_key' and not Path('log.txt').is_file():
        return {'error': {'code': -32000, 'message': 'Authentication required'}}
    if method in ('session/new', 'session/load'):
        if mode == 'dies_once':
            note(method)
        if method == 'session/load':
            say('what was said before')
        own = modes(os.environ.get('ODD_MODES', ''))
        return {'result': {**own, **({'sessionId': SESSION} if method == 'session/new' else {})}}
    if method == 'session/prompt':
        error = TURNS.get(mode, plain)(params['prompt'][0]['text'])
        times = 100 if mode == 'counts_calls' else 1
        tokens = {'totalTokens': 30 * times, 'inputTokens': 20 * times, 'outputTokens': 10 * times}
        usage = {'usage': tokens} if mode.startswith('counts') else {}
        return {'result': {'stopReason': 'end_turn', **usage}} if error is None else {'error': error}
    return {'error': {'code': -32601, 'message': 'Method not found'}}


def main(mode: str, *options: str) -> None:
    before(mode)
    while True:
        message = take()
        if mode != 'mute' and message.get('id') is not None:
            reply = answer(mode, 'loads' in options, message.get('method', ''), message.get('params') or {})
            put({'id': message['id'], **reply})


if __name__ == '__main__':
    main(*sys.argv[1:])
