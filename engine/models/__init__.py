"""Models: providers behind HTTP endpoints, and the scripted model, the default, which needs no key."""

from engine.models.endpoint import Endpoint
from engine.models.http.call_hooks import CallTiming
from engine.models.http.endpoint_settings import endpoints_file
from engine.models.http.known_providers import KNOWN_PROVIDERS, KnownProvider
from engine.models.protocol import SCRIPTED, Waiting
from engine.models.registry import (
    LOCAL_ENDPOINTS,
    PROVIDERS,
    EndpointHealth,
    EndpointInfo,
    ModelRegistry,
)
from engine.models.stubs import StubFile, models_and_stubs, read_stub_file, write_stubs
from engine.models.usage_estimate import CHARACTERS_A_TOKEN
from engine.records.effort import EFFORT_LEVELS, EFFORT_SYNTAX, is_effort

__all__ = [
    'CHARACTERS_A_TOKEN',
    'EFFORT_LEVELS',
    'EFFORT_SYNTAX',
    'KNOWN_PROVIDERS',
    'LOCAL_ENDPOINTS',
    'PROVIDERS',
    'SCRIPTED',
    'CallTiming',
    'Endpoint',
    'EndpointHealth',
    'EndpointInfo',
    'KnownProvider',
    'ModelRegistry',
    'StubFile',
    'Waiting',
    'endpoints_file',
    'is_effort',
    'models_and_stubs',
    'read_stub_file',
    'write_stubs',
]
