"""Streams recorded from providers, whole and in pieces of any size, and how the client reads them.

The files are our own, in the shape of each provider's. `HEMICYCLE_CASSETTES` names a folder of more, with a
manifest of the same form: recorded traffic that is not ours to publish.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.models.protocol import Completed
from tests.models.reading import CallResult, replay

OWN = Path(__file__).parent / 'cassettes'
FOLDERS = [OWN, *map(Path, filter(None, [os.environ.get('HEMICYCLE_CASSETTES')]))]
DIALECTS = {
    'openai-chat': 'openai',
    'openai-responses': 'responses',
    'anthropic': 'anthropic',
    'gemini': 'gemini',
}


def cases() -> list[Any]:
    return [
        pytest.param(folder, case, id=case['id'])
        for folder in FOLDERS
        for case in json.loads((folder / 'manifest.json').read_text('utf-8'))['cases']
    ]


async def play(folder: Path, case: dict[str, Any], size: int) -> CallResult:
    body = (folder / case['response']).read_bytes()
    headers = {name: value for name, value in case['headers'].items() if name != 'transfer-encoding'}
    return await replay(body, DIALECTS[case['dialect']], status=case['status'], headers=headers, size=size)


@pytest.mark.parametrize('size', [0, 1, 7])
@pytest.mark.parametrize(('folder', 'case'), cases())
async def test_a_recorded_stream_is_read_correctly(folder: Path, case: dict[str, Any], size: int) -> None:
    expected = case['expect']
    result = await play(folder, case, size)
    if 'text' in expected:
        assert result.text == expected['text']
        assert result.reasoning == expected['reasoning']
        calls = [(item['name'], item['arguments']) for item in expected['tool_calls']]
        assert result.calls == calls
        assert result.ids == [item['id'] for item in expected['tool_calls']]
    if error := expected.get('error'):
        assert result.failure.status == error['status']
        assert error['message'] in str(result.failure)
        assert result.failure.code == str(error['code'] or error['type'])
        return
    end = result.end
    assert isinstance(end, Completed)
    assert end.finish == (expected['finish'] or '')
    if expected['usage']:
        cached, written = expected.get('cache', [0, 0])
        assert [end.usage.input - (cached or 0) - (written or 0), end.usage.output] == expected['usage']
