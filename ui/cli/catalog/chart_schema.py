"""hemicycle chart schema: the format of chart files, for editors that complete and check them."""

from __future__ import annotations

import json

import typer

from engine.charts import chart_schema
from ui.cli.exit_codes import CODES

EPILOG = f"""Examples:

```
hemicycle chart schema > chart.schema.json
```

Put `# yaml-language-server: $schema=chart.schema.json` into the first line of a chart file: editors with YAML
support then complete its fields.

{CODES}"""


def schema() -> None:
    """Print the JSON Schema of chart files."""
    typer.echo(json.dumps(chart_schema(), indent=2, ensure_ascii=False))
