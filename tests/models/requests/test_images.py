"""Images in tool results: stored apart from the journal, and sent to models with vision."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from mcp.types import CallToolResult, ImageContent, TextContent

from engine import LocalConductor, ToolContext
from engine.agents.activities import MAX_IMAGES, load_images
from engine.agents.chart import agent
from engine.errors import ToolError
from engine.journal import MemoryJournal
from engine.models.http.client import DIALECTS
from engine.models.http.dialects.vision import takes_images
from engine.models.protocol import ModelRequest
from engine.models.usage_estimate import message_length
from engine.records.message import Image, Message, ToolCall, ToolResult
from engine.tools.builtin.project.read_file import read_file
from engine.tools.images import MAX_IMAGE_BYTES, MAX_SIDE, image_problem, image_type
from engine.tools.mcp.remote_tool import output_of
from engine.tools.protocol import tool
from engine.workspace.workspaces import Workspaces
from tests.models.reading import endpoint
from tests.support.harness import FakeModel, Lone, calls, catalog, complete_run, in_turn


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))


def png(width: int = 1, height: int = 1) -> bytes:
    """Return a black picture; only its header claims a large size."""
    pixels = zlib.compress(bytes((min(width, 10_000) // 8 + 2) * min(height, 10)))
    header = struct.pack('>IIBBBBB', width, height, 1, 0, 0, 0, 0)
    return SIGNATURE + chunk(b'IHDR', header) + chunk(b'IDAT', pixels) + chunk(b'IEND', b'')


SIGNATURE = b'\x89PNG\r\n\x1a\n'
PNG = png()
DATA = base64.b64encode(PNG).decode()
TALK = (
    Message.of('user', 'Look'),
    Message(
        role='assistant',
        parts=tuple(ToolCall(id=name, name='read_file', arguments='{}') for name in ('one', 'two')),
    ),
    Message(
        role='tool',
        parts=(
            ToolResult(id='one', name='read_file', text='an image'),
            ToolResult(id='two', name='read_file', text='text'),
            Image(media_type='image/png', digest='d1', call='one'),
            Image(media_type='image/png', digest='lost', call='two'),
        ),
    ),
)


def body(dialect: str, model: str = 'gpt-5.2', **more: Any) -> dict[str, Any]:
    request = ModelRequest(model='m', messages=TALK, images={'d1': DATA})
    return DIALECTS[dialect].body(model, request, endpoint(dialect, **more))


def test_anthropic_gets_an_image_within_the_result() -> None:
    one, two = body('anthropic', 'claude-opus-5')['messages'][-1]['content']
    assert one['content'] == [
        {'type': 'text', 'text': 'an image'},
        {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data': DATA}},
    ]
    assert two['content'] == 'text', 'one that is no longer stored is left out'


def test_chat_completions_get_it_as_a_message_after_all_results() -> None:
    *_, one, two, images_message = body('openai')['messages']
    assert (one['role'], two['role'], images_message['role']) == ('tool', 'tool', 'user')
    assert images_message['content'] == [
        {'type': 'text', 'text': 'What read_file has returned as an image:'},
        {'type': 'image_url', 'image_url': {'url': f'data:image/png;base64,{DATA}'}},
    ]


def test_responses_get_it_within_the_output() -> None:
    *_, one, two = body('responses')['input']
    assert one['output'] == [
        {'type': 'input_text', 'text': 'an image'},
        {'type': 'input_image', 'image_url': f'data:image/png;base64,{DATA}'},
    ]
    assert two['output'] == 'text'


@pytest.mark.parametrize('dialect', ['openai', 'responses', 'anthropic', 'gemini'])
def test_a_model_without_vision_gets_no_image(dialect: str) -> None:
    assert DATA not in json.dumps(body(dialect, 'deepseek-chat'))
    assert DATA in json.dumps(body(dialect, 'deepseek-chat', images='always'))
    assert DATA not in json.dumps(body(dialect, 'claude-opus-5', images='never'))


@pytest.mark.parametrize(
    ('model', 'takes'),
    [
        ('claude-3-5-haiku-latest', True),
        ('anthropic/claude-sonnet-5', True),
        ('gpt-4o-mini', True),
        ('gpt-4.1', True),
        ('o3', True),
        ('gemini-2.5-flash', True),
        ('qwen3-vl:8b', True),
        ('qwen2.5vl:7b', True),
        ('llava:13b', True),
        ('meta-llama/llama-4-scout', True),
        ('gemma3:12b', True),
        ('gpt-3.5-turbo', False),
        ('gpt-4', False),
        ('deepseek-chat', False),
        ('qwen3:8b', False),
        ('gpt-oss:20b', False),
        ('llama3.3', False),
    ],
)
def test_a_model_is_known_by_its_name(model: str, takes: bool) -> None:
    assert takes_images(model, endpoint()) is takes


def test_an_image_counts_when_tokens_are_estimated() -> None:
    assert message_length(TALK[-1]) > 2 * 4_000


@pytest.mark.parametrize(
    ('data', 'kind'),
    [
        (PNG, 'image/png'),
        (b'\xff\xd8\xff\xe0..', 'image/jpeg'),
        (b'GIF89a..', 'image/gif'),
        (b'RIFF....WEBPVP8 ', 'image/webp'),
        (b'RIFF....WAVEfmt ', ''),
        (b'%PDF-1.7', ''),
        (b'', ''),
    ],
)
def test_an_image_is_known_by_its_first_bytes(data: bytes, kind: str) -> None:
    assert image_type(data) == kind


JPEG = (
    b'\xff\xd8\xff\xe0\0\x04JF'  # Application data, then the size, the scan and the end.
    b'\xff\xc0\0\x0b\x08\0\x10\0\x20\x01\x01\x11\0'
    b'\xff\xda\0\x08\x01\x01\0\0\x3f\0data\xff\0\xff\xd9'
)
GIF = b'GIF89a' + struct.pack('<HH', 4, 5) + b'\0\0\0,data\0;'
WEBP = (
    b'RIFF' + struct.pack('<I', 22) + b'WEBPVP8X' + struct.pack('<I', 10) + b'\0\0\0\0' + b'\x03\0\0\x04\0\0'
)


@pytest.mark.parametrize('data', [PNG, png(8_000, 8_000), PNG + b'more', JPEG, JPEG + b'more', GIF, WEBP])
def test_a_valid_image_is_accepted(data: bytes) -> None:
    assert image_problem(data) == ''


@pytest.mark.parametrize('data', [PNG, JPEG, GIF, WEBP], ids=['png', 'jpeg', 'gif', 'webp'])
def test_a_truncated_image_is_refused(data: bytes) -> None:
    for length in range(12, len(data)):
        assert image_problem(data[:length]) == 'it is incomplete', length


@pytest.mark.parametrize(
    'data',
    [
        png(MAX_SIDE + 1, 1),
        png(65_000, 65_000),
        png(2**31, 2**31),
        JPEG.replace(b'\0\x10\0\x20', b'\xff\xff\xff\xff'),
        GIF.replace(struct.pack('<HH', 4, 5), b'\xff\xff\xff\xff'),
        WEBP.replace(b'\x03\0\0\x04\0\0', b'\xff\xff\xff\xff\xff\xff'),
    ],
    ids=['wide', 'bomb', 'nonsense', 'jpeg', 'gif', 'webp'],
)
def test_an_image_with_too_many_pixels_is_refused(data: bytes) -> None:
    assert len(data) < 100_000
    assert image_problem(data) == 'it is too large for a model: at most 8,000 pixels a side'


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext(key='k', workspace=Workspaces(tmp_path / 'in').of('run', 'one'))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('data', 'message'),
    [
        (PNG[:-5], 'it is incomplete'),
        (png(0, 5), 'it is incomplete'),
        (png(65_000, 65_000), 'at most 8,000 pixels'),
        (b'\x89PNG\r\n\x1a\n' + b'\0' * 40, 'it is incomplete'),
    ],
    ids=['cut', 'no pixels', 'bomb', 'zeros'],
)
async def test_an_unreadable_file_is_named_but_not_sent(
    context: ToolContext, data: bytes, message: str
) -> None:
    await context.files.write('plan.png', data)
    with pytest.raises(ToolError, match=f'plan.png: .*{message}'):
        await read_file.invoke('{"path": "plan.png"}', context)
    block = ImageContent(type='image', data=base64.b64encode(data).decode(), mime_type='image/png')
    assert (await output_of(CallToolResult(content=[block]), context)).images == ()


async def test_the_claimed_media_type_is_not_trusted(context: ToolContext) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    blocks = [
        ImageContent(type='image', data=base64.b64encode(PNG).decode(), mime_type='image/svg+xml'),
        ImageContent(type='image', data=base64.b64encode(svg).decode(), mime_type='image/png'),
        ImageContent(type='image', data='no base64!', mime_type='image/png'),
    ]
    output = await output_of(CallToolResult(content=list(blocks)), context)
    assert [image.media_type for image in output.images] == ['image/png']
    await context.files.write('a.svg', svg)
    assert (await read_file.invoke('{"path": "a.svg"}', context)).images == ()


@pytest.mark.parametrize('path', ['../out.png', '/etc/passwd', 'link.png', 'folder/../../out.png'])
async def test_an_image_outside_the_workspace_is_not_read(
    context: ToolContext, tmp_path: Path, path: str
) -> None:
    await context.files.write('a.txt', b'')
    (context.files.folder / 'link.png').symlink_to(tmp_path / 'out.png')
    for folder in (tmp_path, context.files.folder.parent):
        (folder / 'out.png').write_bytes(PNG)
    with pytest.raises(ToolError):
        await read_file.invoke(json.dumps({'path': path}), context)


async def test_an_image_of_50_megabytes_is_refused_before_it_is_read(context: ToolContext) -> None:
    await context.files.write('a.txt', b'')
    with (context.files.folder / 'big.png').open('wb') as file:
        file.write(PNG)
        file.truncate(50_000_000)
    with pytest.raises(ToolError, match=r'big\.png: it has 50000000 bytes, and at most'):
        await read_file.invoke('{"path": "big.png"}', context)


async def test_a_file_that_is_an_image_is_shown(context: ToolContext) -> None:
    await context.files.write('plan.png', PNG)
    result = await read_file.invoke('{"path": "plan.png"}', context)
    assert (
        result.text
        == f'plan.png is an image: image/png, {len(PNG)} bytes. Models that accept images are shown it.'
    )
    assert await context.files.load(result.images[0].digest) == PNG
    await context.files.write('huge.png', PNG + bytes(MAX_IMAGE_BYTES))
    with pytest.raises(ToolError, match=r'huge\.png: .*it is too large for a model: at most 3,750,000 bytes'):
        await read_file.invoke('{"path": "huge.png"}', context)


async def test_an_image_of_an_mcp_tool_is_shown_and_its_text_says_so(context: ToolContext) -> None:
    blocks = [
        TextContent(type='text', text='Here:'),
        ImageContent(type='image', data=DATA, mime_type='image/png'),
        ImageContent(type='image', data=base64.b64encode(b'no image').decode(), mime_type='image/png'),
    ]
    output = await output_of(CallToolResult(content=list(blocks)), context)
    assert output.text.startswith(f'Here:\n[image/png, {len(PNG)} bytes, kept as artifact ')
    assert [image.media_type for image in output.images] == ['image/png']


async def test_only_the_newest_existing_images_are_loaded(context: ToolContext) -> None:
    digests = [await context.files.store(b'%d' % number) for number in range(MAX_IMAGES + 5)]
    parts = [Image(media_type='image/png', digest=digest) for digest in (*digests, 'ab' * 32)]
    images = await load_images([Message(role='tool', parts=tuple(parts))], context.files)
    assert set(images) == set(digests[6:])


class Looking(Lone):
    states = [agent('working', prompt='ask', tools=('draw', 'read_file')), *Lone.states[1:]]


async def test_a_run_keeps_digests_in_its_journal_and_shows_the_bytes(tmp_path: Path) -> None:
    @tool()
    async def draw(context: ToolContext) -> str:
        """Draw."""
        await context.files.write('a.png', PNG)
        return 'drawn'

    model = FakeModel(in_turn(calls(('draw', {})), calls(('read_file', {'path': 'a.png'})), 'A bird.'))
    own_catalog = catalog(model, Looking)
    own_catalog.tools |= {'draw': draw, 'read_file': read_file}
    async with LocalConductor(MemoryJournal(), catalog=own_catalog, workspaces=tmp_path) as conductor:
        run = await complete_run(conductor, 'looking')
        steps = await conductor.transitions(run)
        assert DATA not in str(steps) and 'PNG' not in str(steps)
        (batch,) = (step for step in steps if step.event.data.get('images'))
        assert batch.event.data['images'][0]['media_type'] == 'image/png'
        assert await conductor.audit(run) == len(steps)
    assert [list(request.images.values()) for request in model.requests] == [[], [], [DATA]]


@pytest.mark.parametrize(
    'data', [PNG[:8] + b'\0\0\0\0none\0\0\0\0' * 20_000 + PNG[8:], b'\xff\xd8' + b'\xff' * 20_000 + JPEG[2:]]
)
def test_an_image_of_very_many_parts_is_not_read_to_its_end(data: bytes) -> None:
    assert image_problem(data) == 'it is incomplete'
