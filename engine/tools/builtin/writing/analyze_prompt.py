"""analyze_prompt: analyzes a writing request: topic, readers, sections, research."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.protocol import ToolContext, tool


class Analysis(FrozenModel):
    """What a request asks for."""

    topic: str = Field(description='What the text is about, in a line')
    audience: str = Field(description='Who reads it')
    tone: str = Field(description='How it should sound')
    target_words: int = Field(ge=50, le=20_000, description='How long it should be')
    sections: tuple[str, ...] = Field(min_length=1, max_length=12, description='Titles of its sections')
    research: tuple[str, ...] = Field(default=(), description='What should be looked up first')


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
    question = f'Analyze this request for a text: what does it ask for?\n\n{as_data(prompt)}'
    analysis: Analysis = await context.ask(question, output=Analysis)
    return ToolOutput(text=analysis.model_dump_json(indent=1), artifacts={'analysis': analysis.model_dump()})
