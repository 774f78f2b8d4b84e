"""The names of spans' attributes, in one place.

Those of `gen_ai.` and `error.` are the semantic conventions of OpenTelemetry for generative AI, which are
still in development there; `hemicycle.` are our own.
"""

from __future__ import annotations

from typing import Final

OPERATION: Final = 'gen_ai.operation.name'
PROVIDER: Final = 'gen_ai.provider.name'
WORKFLOW: Final = 'gen_ai.workflow.name'
AGENT: Final = 'gen_ai.agent.name'
CONVERSATION: Final = 'gen_ai.conversation.id'
MODEL: Final = 'gen_ai.request.model'
RESPONSE_MODEL: Final = 'gen_ai.response.model'
INPUT_TOKENS: Final = 'gen_ai.usage.input_tokens'
OUTPUT_TOKENS: Final = 'gen_ai.usage.output_tokens'
CACHE_READ_TOKENS: Final = 'gen_ai.usage.cache_read.input_tokens'
CACHE_WRITE_TOKENS: Final = 'gen_ai.usage.cache_creation.input_tokens'
REASONING_TOKENS: Final = 'gen_ai.usage.reasoning.output_tokens'
OUTPUT_MESSAGES: Final = 'gen_ai.output.messages'
TOOL: Final = 'gen_ai.tool.name'
TOOL_CALL: Final = 'gen_ai.tool.call.id'
TOOL_RESULT: Final = 'gen_ai.tool.call.result'
ERROR: Final = 'error.type'

RUN: Final = 'hemicycle.run'
TITLE: Final = 'hemicycle.title'
STATUS: Final = 'hemicycle.status'
STATE: Final = 'hemicycle.state'
ENTERED: Final = 'hemicycle.step.entered'
LEFT: Final = 'hemicycle.step.left'
PARENT: Final = 'hemicycle.parent'
SIMULATED: Final = 'hemicycle.simulated'
DOLLARS: Final = 'hemicycle.dollars'
