"""A dashboard with twelve external agents that never stop talking; `/bench` returns each piece's time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from engine import Catalog, Conductor, LocalConductor
from engine.tools.acp import ExternalAgents
from engine.tools.acp.known_agents import ExternalAgent
from engine.tools.builtin.research.calculator import calculator
from storage import Settings, open_journal
from tests.bench.servers.live import PACE, REPLY, TWELVE, Talk

PROGRAM = Path(__file__).with_name('talker.py')


def main(folder: Path, port: int) -> None:
    """Serve until a signal comes."""
    from nicegui import app

    from ui.server.serve import listen, run

    agent = ExternalAgent(
        name='talker',
        command=sys.executable,
        args=(str(PROGRAM), str(PACE), str(REPLY)),
        env={'SAID': f'{folder}/said-'},
        sandboxed=False,
    )

    async def open_conductor() -> Conductor:
        catalog = Catalog(patterns={'talk': Talk}, tools={'calculator': calculator})
        catalog.agents = catalog.registry.agents = ExternalAgents({agent.name: agent})
        conductor = LocalConductor(await open_journal(Settings(database=folder / 'wall.db')), catalog=catalog)
        await conductor.start('talk', {'agents': len(TWELVE)}, models={'': f'agent:{agent.name}'})
        return conductor

    @app.get('/bench')
    def bench() -> dict[str, Any]:
        """Everything sent so far."""
        lines = []
        for written in folder.glob('said-*'):
            for line in written.read_text().splitlines():
                number, at = line.split()
                lines.append((written.name.rpartition('.')[2], int(number), float(at)))
        return {'said': lines}

    with listen('127.0.0.1', port) as listening:
        run(listening, open_conductor, folder=folder, show=False)


if __name__ == '__main__':
    main(Path(sys.argv[1]), int(sys.argv[2]))
