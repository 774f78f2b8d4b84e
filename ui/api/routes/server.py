"""The server itself, and the models that can be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from fastapi import APIRouter, Path

from engine import Conductor
from engine.errors import EngineError, UnknownRun
from engine.history import program_version
from engine.records import RunId
from ui.api.dependencies import Engine, list_of
from ui.api.records import ServerInfo
from ui.api.wire import wire

router = APIRouter()
MODELS: list[str | Enum] = ['Models']
SERVER: list[str | Enum] = ['Server']
Name = Annotated[str, Path(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model that can be chosen."""

    name: str
    simulated: bool
    """Whether it needs no key and no network, and is free."""


@router.get('/server', tags=SERVER, response_model=wire(ServerInfo))
async def describe_server(conductor: Engine) -> ServerInfo:
    """Describe this server."""
    return ServerInfo(
        version=program_version(),
        owner=conductor.owner,
        stranded={
            run: reason for run, reason in conductor.stranded.items() if await _is_visible(conductor, run)
        },
        retention=conductor.retention,
    )


async def _is_visible(conductor: Conductor, run: RunId) -> bool:
    try:
        await conductor.info(run)
    except UnknownRun:
        return False
    except EngineError:
        pass  # Unreadable, perhaps for the reason that it is stranded.
    return True


@router.post('/recover', tags=SERVER)
async def recover(conductor: Engine) -> list[str]:
    """Continue all unfinished runs whose process has died, and list them."""
    return list(map(str, await conductor.recover()))


@router.get('/models', tags=MODELS, response_model=list_of(ModelInfo))
async def list_models(conductor: Engine) -> list[ModelInfo]:
    """List the known models."""
    models = conductor.catalog.registry
    return [ModelInfo(name=name, simulated=models[name].simulated) for name in models]
