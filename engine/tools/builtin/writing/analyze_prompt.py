"""analyze_prompt: analyzes a writing request: topic, readers, sections, research."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.protocol import ToolContext, tool


class Analysis(FrozenModel):
    """The requirements of a writing request."""

    topic: str = Field(description='The topic in one line')
    audience: str = Field(description='The intended readers')
    tone: str = Field(description='The tone of the text')
    target_words: int = Field(ge=50, le=20_000, description='Target length in words')
    sections: tuple[str, ...] = Field(min_length=1, max_length=12, description='Section titles')
    research: tuple[str, ...] = Field(default=(), description='What to look up first')


@tool(
    category='content',
    hint='Use for complex prompts with multiple topics or sections.',
    produces=('analysis',),
    needs=('model',),
    seconds=600,
)
async def analyze_prompt(
    context: ToolContext,
    prompt: Annotated[str, Field(min_length=1, max_length=20_000, description='The blog prompt to analyze')],
) -> ToolOutput:
    """Analyze a complex blog prompt to identify structure and research needs."""
    question = f'Analyze this writing request: what does it ask for?\n\n{as_data(prompt)}'
    analysis: Analysis = await context.ask(question, output=Analysis)
    return ToolOutput(text=analysis.model_dump_json(indent=1), artifacts={'analysis': analysis.model_dump()})
