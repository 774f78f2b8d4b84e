"""Filler for agents that choose their tools: real tool calls, and results marked as filler.

These agents do everything that does not require understanding the request: they run tests, read a transcript
or list a change. Their last reply states what they could not do, and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from engine.models.prepared_replies import Call, Turn
from engine.models.protocol import ModelRequest
from engine.models.scripted import software, templates
from engine.models.scripted.topic_extraction import Topic
from engine.records.message import ToolResult

FILLER = (
    'Simulated filler: the scripted model does not understand this request. Pick a sample or another model.'
)
SIGNAL = re.compile(r'with a line that says (\w+) and nothing else')
TRANSCRIPT_LINE = re.compile(r'^\[[^\]\n]+\] (?:[^:\n]{1,60}: )?(.{1,200}?)\s*$', re.M)
"""A line of a transcript that can be quoted."""
MIN_QUOTE = 20
"""Minimum characters of a line for it to be quoted in preference to others."""
PLACE = re.compile(r'^(?:File ")?([\w./-]+\.\w+)"?(?::|, line )(\d+)', re.M)
EPISODE_TOOLS = (('transcript_processor',), ('chapter_markers', 'show_notes'), ('social_clips',))
"""Tools that the podcast agent calls, reply by reply."""
CHART = re.compile(r'^<chart>\n(.*?)\n</chart>$', re.M | re.S)
EXAMPLE = re.compile(r'^```yaml\n(.*?)\n```$', re.M | re.S)
TAKEN = 'choose another name'
"""What an author is told whose chart has the name of another."""
ADDED = re.compile(r'^\+\+\+ (?:b/)?(.+)$', re.M)


def act(request: ModelRequest, topic: Topic) -> Turn | None:
    """Return the next reply of an agent this module can play, or of a tool it called; None for others."""
    if request.hints.pattern == 'author':
        return _write_chart(request, topic)
    agent, _, tool = request.hints.role.partition('.')
    if tool:
        return _answer_tool(tool, request, topic)
    play = AGENTS.get(agent)
    return play(request, topic) if play and request.tools else None


def add_signal(request: ModelRequest, text: str) -> str:
    """Append the signal that the prompt asks for, if any, to a last reply."""
    prompt = ' '.join(
        ' '.join(message.text for message in request.messages if message.role == 'user').split()
    )
    signal = SIGNAL.search(prompt)
    return f'{text.rstrip()}\n\n{signal[1]}' if signal else text


def _write_chart(request: ModelRequest, topic: Topic) -> Turn:
    """Answer with the chart that is to be changed as it is, or with the example under another name."""
    prompts = [message.text for message in request.messages if message.role == 'user']
    if changed := CHART.search(prompts[0]):
        text = changed[1]
    else:
        words = re.findall('[a-z][a-z0-9]*', topic.subject.lower())[:4] or ['filler']
        number = f'-{request.hints.visit}' if TAKEN in prompts[-1] else ''
        name = f'{"-".join(words)[:40].rstrip("-")}{number}'
        text = re.sub('^chart: .*', f'chart: {name}', EXAMPLE.findall(prompts[0])[-1])
    return Turn(text=f'{FILLER}\n\n```yaml\n{text}\n```')


def _write_post(request: ModelRequest, topic: Topic) -> Turn:
    return _finish(request, f'*{FILLER}*\n\n{templates.first_draft(topic, (), "")}')


def _produce_episode(request: ModelRequest, topic: Topic) -> Turn:
    for tools in EPISODE_TOOLS:
        results = [result for tool in tools for result in _results(request, tool)]
        if not results:
            return Turn(calls=tuple(Call(tool=tool) for tool in tools))
        if failed := [result for result in results if not result.ok]:
            return _stop(f'{failed[0].name} failed: {failed[0].text}')
    return _finish(
        request, f'{FILLER} The chapters start at pauses; the notes and clips quote the transcript.'
    )


def _build(request: ModelRequest, topic: Topic) -> Turn:
    """Add a module with its test to the project, and run all tests."""
    if not _results(request, 'run_tests'):
        writes = tuple(
            Call(tool='write_file', arguments={'path': path, 'text': text})
            for path, text in software.files(topic, 1).items()
        )
        return Turn(calls=(*writes, Call(tool='run_tests')))
    tested = _results(request, 'run_tests')[-1]
    if not tested.ok:
        return _stop(f'the tests of this project fail even without the feature: {_brief(tested.text)}')
    return _finish(request, f'{FILLER} The agent added a module and a test as placeholders for the feature.')


def _debug(request: ModelRequest, topic: Topic) -> Turn:
    if not _results(request, 'run_tests'):
        return Turn(calls=(Call(tool='run_tests'),))
    tested = _results(request, 'run_tests')[-1]
    if not tested.ok:
        return _stop(f'it can run the tests but not fix the failures: {_brief(tested.text)}')
    return _finish(request, f'{FILLER} The agent ran the tests: all of them pass, and nothing was changed.')


def _triage(request: ModelRequest, topic: Topic) -> Turn:
    if not _results(request, 'run_tests'):
        return Turn(calls=(Call(tool='run_tests'),))
    tested = _results(request, 'run_tests')[-1]
    test, file, line = _failure(tested)
    errors = re.findall(r'^E +(.+)$', tested.text, re.M) or [_brief(tested.text)]
    cause = 'No test failed.' if tested.ok else f'The test report says: {errors[0][:200]}'
    return Turn(
        answer={
            'test': test,
            'component': file.rpartition('/')[2].partition('.')[0] or file,
            'file': file,
            'line': line,
            'cause': cause,
            'evidence': [f'run_tests: {_brief(tested.text)}'],
            'severity': 'low' if tested.ok else 'medium',
            'suggestion': FILLER,
        }
    )


def _review(request: ModelRequest, topic: Topic) -> Turn:
    if not _results(request, 'run_tests'):
        return Turn(calls=(Call(tool='run_tests'), Call(tool='git', arguments={'arguments': ['diff']})))
    tested = _results(request, 'run_tests')[-1]
    changed = [path for result in _results(request, 'git') for path in ADDED.findall(result.text)]
    listed = f' The change touches {", ".join(changed)}.' if changed else ''
    test, file, line = _failure(tested)
    finding = {
        'file': file,
        'line': line,
        'severity': 'blocker',
        'problem': f'Failing: {test}',
        'suggestion': '',
    }
    return Turn(
        answer={
            'verdict': 'comment' if tested.ok else 'request changes',
            'summary': f'{FILLER} The agent ran the tests: {_brief(tested.text)}.{listed}',
            'findings': [] if tested.ok else [finding],
        }
    )


AGENTS: Mapping[str, Callable[[ModelRequest, Topic], Turn]] = {
    'blog': _write_post,
    'podcast': _produce_episode,
    'builder': _build,
    'debugger': _debug,
    'triager': _triage,
    'code-reviewer': _review,
}
"""By role."""


def _answer_tool(tool: str, request: ModelRequest, topic: Topic) -> Turn | None:
    prompt = request.messages[-1].text
    if tool == 'expand_section':
        match = re.search(r'Write the section “(.+?)”', prompt)
        return Turn(text=templates.section(topic, match[1] if match else topic.subject, FILLER))
    answer = TOOLS.get(tool)
    return Turn(answer=answer(topic, prompt)) if answer else None


def _analysis(topic: Topic, prompt: str) -> dict[str, Any]:
    sections = ['What is known', 'Options', 'Next steps']
    return {
        'topic': topic.subject,
        'audience': 'the person who asked',
        'tone': 'plain',
        'target_words': 400,
        'sections': sections,
        'research': [],
    }


def _outline(topic: Topic, prompt: str) -> dict[str, Any]:
    titles = re.findall(r'^- (.+)$', prompt.partition('Suggested sections:')[2].partition('</data>')[0], re.M)
    sections = [
        {'title': title, 'points': [f'{title}, with a focus on {topic.term(number)}'], 'words': 120}
        for number, title in enumerate(titles[:12] or ['What is known', 'Next steps'])
    ]
    return {'title': topic.heading, 'sections': sections}


def _social_posts(topic: Topic, prompt: str) -> dict[str, Any]:
    networks = re.findall(r'(\w+) \(at most \d+ characters\)', prompt)
    return {
        'posts': [
            {'network': network, 'text': f'A post about {topic.about}. (Simulated filler)'}
            for network in networks or ['mastodon']
        ]
    }


def _show_notes(topic: Topic, prompt: str) -> dict[str, Any]:
    spoken = _quotable_lines(topic, prompt)
    return {
        'title': topic.heading,
        'summary': f'*{FILLER}* The points below are quotations from the transcript, not a summary.\n\n'
        'A language model would describe here what the episode is about, who speaks and what listeners can '
        'take away.',
        'points': [f'“{quote}”' for quote in spoken[:: max(1, len(spoken) // 6)][:6]],
        'mentioned': [],
    }


def _quotable_lines(topic: Topic, prompt: str) -> list[str]:
    """Return lines of the transcript to quote: the longer ones or, if there are none, all of them."""
    lines = list(dict.fromkeys(TRANSCRIPT_LINE.findall(prompt)))
    return [line for line in lines if len(line) >= MIN_QUOTE] or lines or [topic.subject]


def _clips(topic: Topic, prompt: str) -> dict[str, Any]:
    count = int((re.search(r'Choose (\d+)', prompt) or ['', '3'])[1])
    spoken = _quotable_lines(topic, prompt)
    chosen = spoken[:: max(1, len(spoken) // count)][:count]
    return {'clips': [{'quote': quote, 'post': 'From the episode. (Simulated filler)'} for quote in chosen]}


TOOLS: Mapping[str, Callable[[Topic, str], dict[str, Any]]] = {
    'analyze_prompt': _analysis,
    'generate_outline': _outline,
    'generate_social_posts': _social_posts,
    'show_notes': _show_notes,
    'social_clips': _clips,
}
"""Records that tools ask for."""


def _results(request: ModelRequest, tool: str) -> list[ToolResult]:
    return [
        part
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.name == tool
    ]


def _finish(request: ModelRequest, text: str) -> Turn:
    return Turn(text=add_signal(request, text))


def _stop(reason: str) -> Turn:
    """Return a reply without the signal."""
    return Turn(text=f'{FILLER} The agent stopped because {reason}')


def _failure(tested: ToolResult) -> tuple[str, str, int]:
    """Return the failing test in a report, with its file and line if they are named."""
    _, _, rest = tested.text.partition('\n\n')
    named = rest.strip().partition('\n')[0].strip() if not tested.ok else ''
    place = PLACE.search(rest) if not tested.ok else None
    return (
        named or ('none' if tested.ok else 'all tests'),
        place[1] if place else '.',
        int(place[2]) if place else 1,
    )


def _brief(text: str) -> str:
    """Return the first line of a report."""
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), 'nothing was reported')
