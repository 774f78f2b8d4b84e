"""A run as a test: the file that `hemicycle check` plays, without the secrets that are known."""

from __future__ import annotations

import asyncio

import yaml

from engine import Conductor, Redaction, RunId, Saved


async def test_of(conductor: Conductor, run: RunId) -> str:
    """What the run was like, as what is expected of it, and its recorded replies. Raises `UnknownRun`."""
    test = await conductor.save_test(run)
    return await asyncio.to_thread(written, test, Redaction.of(conductor.catalog))


def written(test: Saved, hide: Redaction) -> str:
    """The test as YAML; its expectations stand at the top, to be changed by hand."""
    values = hide.value(test.model_dump(mode='json'))
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
