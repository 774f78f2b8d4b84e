"""Launch: what a run is started with. The form, commands, the API and schedules derive from it."""

from __future__ import annotations

import base64
import binascii
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Final, TypedDict

import typing_extensions
from pydantic import ConfigDict, Field, StrictBool, TypeAdapter, ValidationError, with_config

from engine.errors import InvalidInput
from engine.records.breakpoint import MAX_BREAKPOINTS, Breakpoint, load_breakpoints
from engine.records.effort import Effort
from engine.records.frozen import Label
from engine.records.run_info import MAX_TAG, MAX_TAGS, MAX_TITLE, MAX_VERSION, Approvals, RunInfo
from engine.records.usage import Budget

MAX_STUBS = 1_000
"""Maximum number of agents with stubs."""
MAX_FILES, MAX_FILE, MAX_FILES_SIZE = 100, 1 << 20, 4 << 20
"""Maximum number of files, and of bytes in one and in all together."""
MAX_FILE_PATH, MAX_FILE_NAME, MAX_FILE_DEPTH = 500, 255, 20
"""Maximum bytes of a file's path and of each name in it, and number of these names."""
LARGER = 'what is larger belongs into a project'
Tag = Annotated[str, Field(max_length=MAX_TAG)]
APPROVALS: Final = Label(
    'Tool approval',
    {'marked': 'When the tool requires it', 'all': 'For every tool call', 'none': 'Never'},
)


@with_config(ConfigDict(extra='forbid'))
class BinaryFile(typing_extensions.TypedDict):
    """A file that is not text."""

    base64: str
    """Its bytes in base64."""


FileContent = str | BinaryFile
"""The content of a file, in JSON: text that is stored as UTF-8, or bytes."""
FILE_CONTENT: Final[TypeAdapter[FileContent]] = TypeAdapter(FileContent)


class VariantOptions(TypedDict, total=False):
    """How each of several new runs starts."""

    paused: Annotated[bool, Field(default=False, description='Whether it starts paused.')]
    budget: Annotated[Budget | None, Field(default=None, description='Limits on what it may use.')]
    """By default, its parent's: what the parent has used does not count."""


class StartOptions(VariantOptions, total=False):
    """How a new run starts."""

    title: Annotated[
        str,
        Field(
            default='',
            max_length=MAX_TITLE,
            description="The new run's title; by default what changes, or else the parent's title.",
        ),
    ]


@with_config(ConfigDict(extra='forbid'))
@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A run to launch, with its options; what is given by role is for all other roles at `""`."""

    pattern: Annotated[str, Field(max_length=200)]
    """The name of a pattern."""
    version: Annotated[str, Field(max_length=MAX_VERSION)] = ''
    """The version of the pattern; by default the current one."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for the parameters of the pattern."""
    title: Annotated[str, Field(max_length=MAX_TITLE), Label('Title')] = ''
    """Name shown in lists; derived from the input if empty."""
    tags: Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS), Label('Tags')] = ()
    """Labels to find the run by."""
    private: Annotated[StrictBool, Label('Private')] = False
    """Only its author and administrators can see it."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Models by role: `openai/gpt-5`, or several separated by commas, the first choice first."""
    effort: Mapping[str, Effort] = field(default_factory=dict)
    """Reasoning effort by role: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or a number of
    tokens."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """Standing instructions by role, instead of the pattern's."""
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tools by role, instead of the pattern's."""
    files: Annotated[Mapping[str, FileContent], Field(max_length=MAX_FILES)] = field(default_factory=dict)
    """Files that its agents find in their folders, by path."""
    budget: Budget | None = None
    """Limits on what it may use."""
    approvals: Annotated[Approvals, APPROVALS] = 'marked'
    """Which tool calls wait for a person's approval."""
    record: Annotated[StrictBool, Label('Record model replies')] = False
    """Lets the run be replayed later, offline and for free. Keys are not recorded."""
    replay: Annotated[str, Field(max_length=100)] = ''
    """The run whose recording answers instead of the models."""
    stubs: Annotated[Mapping[str, tuple[Any, ...]], Field(max_length=MAX_STUBS)] = field(default_factory=dict)
    """Answers given to agents instead of asking a model: by agent or role, one for each visit."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), Label('Seed')] = 0
    """A simulated run repeats exactly with the same seed and input."""
    paused: StrictBool = False
    """Enter the first state without starting any work."""
    breakpoints: Annotated[tuple[Breakpoint, ...], Field(max_length=MAX_BREAKPOINTS)] = ()
    """Where to stop."""

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Launch:
        """Read a launch from its fields by name. Raises `InvalidInput`, naming the field."""
        values = {
            **values,
            'breakpoints': load_breakpoints(values.get('breakpoints') or ()),
            'files': check_files(values.get('files') or {}),
        }
        try:
            launch = LAUNCH.validate_python(values)
        except ValidationError as error:
            raise InvalidInput(
                {'.'.join(filter(None, map(str, item['loc']))): item['msg'] for item in error.errors()}
            ) from None
        if launch.budget:
            launch.budget.check()
        if launch.record and launch.replay:
            raise InvalidInput(
                {'record': 'a replay cannot be recorded: it would be the same recording again'}
            )
        if launch.stubs and launch.replay:
            raise InvalidInput({'stubs': 'a replay answers from its recording'})
        return launch

    @classmethod
    def build(
        cls, launch: Launch | str, parameters: Mapping[str, Any] | None, values: Mapping[str, Any]
    ) -> Launch:
        """Return the launch that the arguments of `Conductor.start` describe. Raises `InvalidInput`."""
        if isinstance(launch, Launch):
            return launch.change({})
        fields = {name: value for name, value in values.items() if name in FIELDS and value is not None}
        more = {name: value for name, value in values.items() if name not in FIELDS}
        return cls.parse({**fields, 'pattern': launch, 'parameters': {**(parameters or {}), **more}})

    def change(self, values: Mapping[str, Any]) -> Launch:
        """Return it with other values of some fields. Raises `InvalidInput`."""
        return Launch.parse({name: getattr(self, name) for name in FIELDS} | dict(values))

    @classmethod
    def of(cls, info: RunInfo) -> Launch:
        """Return the launch that would start a run again, with the pattern as it is today.

        What an imported run has wrong is left out, and so are its files: `read_given_files` reads them.
        """
        own = {name: getattr(info, name) for name in FIELDS - OPTIONS - {'version'}}
        options = {name: value for name, value in info.options.items() if name in OPTIONS - {'files'}}
        try:
            readable = LAUNCH.validate_python({**options, 'pattern': ''})
        except ValidationError as error:
            wrong = {item['loc'][0] for item in error.errors()}
            return cls.of(replace(info, options={name: options[name] for name in options.keys() - wrong}))
        return replace(readable, **own)

    @property
    def options(self) -> dict[str, Any]:
        """The fields that a run's summary has in `options`, as JSON, unless they have their defaults.

        A summary has only the names of `files`; see `RunInfo.given_files`.
        """
        changed = {name for name in OPTIONS - {'files'} if getattr(self, name) != getattr(DEFAULT, name)}
        return dict(LAUNCH.dump_python(self, mode='json', include=changed))


FIELDS: Final = frozenset(item.name for item in fields(Launch))
OPTIONS: Final = FIELDS - {item.name for item in fields(RunInfo)}
"""The fields for which `RunInfo` has no field of its own."""
DEFAULT: Final = Launch(pattern='')
LAUNCH: Final = TypeAdapter(Launch)


def check_files(files: Any, at: str = 'files') -> dict[str, FileContent]:
    """Return the files of a launch or a case in their one form: what is UTF-8 without NUL is text.

    Args:
        files: their contents by path: `FileContent`, or bytes.
        at: the name of the field, before the path in errors: `files.notes/a.txt`.

    Raises:
        InvalidInput: names each path that is wrong.
    """
    if not isinstance(files, Mapping):
        raise InvalidInput({at: 'must be contents by path'})
    problems = {f'{at}.{path}': problem for path in files if (problem := _path_problem(path))}
    problems |= {f'{at}.{path}': problem for path, problem in _clashes(files).items()}
    contents: dict[str, bytes] = {}
    for path, content in files.items():
        try:
            contents[path] = content if isinstance(content, bytes) else file_bytes(content)
        except ValueError as error:
            problems.setdefault(f'{at}.{path}', str(error))
    problems |= {
        f'{at}.{path}': f'is larger than {MAX_FILE >> 20} MB: {LARGER}'
        for path, data in contents.items()
        if len(data) > MAX_FILE
    }
    size = sum(map(len, contents.values()))
    if len(files) > MAX_FILES:
        problems[at] = f'are more than {MAX_FILES}: {LARGER}'
    elif size > MAX_FILES_SIZE:
        problems[at] = f'are larger than {MAX_FILES_SIZE >> 20} MB together: {LARGER}'
    if problems:
        raise InvalidInput(problems)
    return {path: file_content(data) for path, data in contents.items()}


def file_bytes(content: FileContent) -> bytes:
    """Return the bytes of a file. Raises `ValueError`, which says what is wrong with it."""
    try:
        content = FILE_CONTENT.validate_python(content, strict=True)
    except ValidationError:
        raise ValueError('must be text, or bytes as {"base64": …}') from None
    try:
        if isinstance(content, str):
            return content.encode()
        return base64.b64decode(content['base64'], validate=True)
    except UnicodeEncodeError:
        raise ValueError('has characters that are no text: give its bytes as {"base64": …}') from None
    except (binascii.Error, ValueError):
        raise ValueError('is not base64') from None


def file_content(data: bytes) -> FileContent:
    """Return the bytes of a file as JSON: as text if they are UTF-8 without NUL, which databases refuse."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = '\0'
    return BinaryFile(base64=base64.b64encode(data).decode()) if '\0' in text else text


def _path_problem(path: Any) -> str:
    """Return why a file cannot have this path; '' if it can."""
    if not isinstance(path, str) or not path:
        return 'must be a path such as notes/a.txt'
    names = path.split('/')
    sizes = [len(name.encode(errors='replace')) for name in (path, *names)]
    is_long = sizes[0] > MAX_FILE_PATH or max(sizes[1:]) > MAX_FILE_NAME or len(names) > MAX_FILE_DEPTH
    problems = {
        'must not begin with a slash: it is relative to the folder': path.startswith('/'),
        'must not have backslashes or control characters': '\\' in path
        or any(unicodedata.category(char) in ('Cc', 'Cs') for char in path),
        'must not have . or .. or an empty name in it': any(name in ('', '.', '..') for name in names),
        'has a name that the folder uses itself': any(
            name.casefold() == '.git' or name.startswith('.hemicycle-') for name in names
        ),
        'is too long': is_long,
    }
    return next((problem for problem, holds in problems.items() if holds), '')


def _clashes(paths: Mapping[Any, Any]) -> dict[str, str]:
    """Return the paths that another one rules out, also on systems that ignore case."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    problems = {}
    texts = [path for path in paths if isinstance(path, str)]
    for path in texts:
        around = [path.rsplit('/', number)[0] for number in range(1, path.count('/') + 1)]
        for known, name in ((files, path), *((folders, folder) for folder in around)):
            twin = known.setdefault(_folded(name), name)
            if twin != name:
                problems[path] = f'differs from {twin!r} only in case or accents'
    for path in texts:
        if _folded(path) in folders:
            problems[path] = 'is a folder, too: other files are in it'
    return problems


def _folded(path: str) -> str:
    return unicodedata.normalize('NFC', unicodedata.normalize('NFC', path).casefold())
