"""Names of span attributes.

`gen_ai.` and `error.` follow OpenTelemetry's semantic conventions for generative AI, which are still in
development; `hemicycle.` names are our own. A tuple lists the names that different instrumentations use or
used for the same fact, the current convention first: all of them are read, only the first is written.
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
INPUT_MESSAGES: Final = 'gen_ai.input.messages'
OUTPUT_MESSAGES: Final = 'gen_ai.output.messages'
INSTRUCTIONS: Final = 'gen_ai.system_instructions'
TOOL: Final = 'gen_ai.tool.name'
TOOL_CALL: Final = 'gen_ai.tool.call.id'
TOOL_ARGUMENTS: Final = 'gen_ai.tool.call.arguments'
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

OPENINFERENCE_KIND: Final = 'openinference.span.kind'
TRACELOOP_KIND: Final = 'traceloop.span.kind'
VERCEL_KIND: Final = 'ai.operationId'
REQUEST_TYPE: Final = 'llm.request.type'

ADK_MESSAGES: Final = ('gcp.vertex.agent.llm_request', 'gcp.vertex.agent.llm_response')
"""A model call as recorded by Google's Agent Development Kit: the request and the response, as JSON."""
AGENT_NAMES: Final = (AGENT, 'agent.name', 'agent_name', 'ai.telemetry.functionId')
ENTITY: Final = 'traceloop.entity.name'
MODELS: Final = (
    RESPONSE_MODEL, MODEL, 'llm.response.model_name', 'llm.model_name', 'llm.request.model_name',
    'ai.response.model', 'ai.model.id',
)  # fmt: skip
TOOLS: Final = (TOOL, 'tool.name', 'ai.toolCall.name', ENTITY)
TOOL_CALLS: Final = (TOOL_CALL, 'tool_call.id', 'tool.id', 'ai.toolCall.id')
ARGUMENTS: Final = (
    TOOL_ARGUMENTS, 'tool_arguments', 'gcp.vertex.agent.tool_call_args', 'ai.toolCall.args', 'input.value',
    'tool.parameters',
    'traceloop.entity.input',
)  # fmt: skip
RESULTS: Final = (
    TOOL_RESULT, 'tool_response', 'gcp.vertex.agent.tool_response', 'ai.toolCall.result', 'output.value',
    'traceloop.entity.output',
)  # fmt: skip
INPUTS: Final = ('input.value', 'traceloop.entity.input', 'ai.prompt')
OUTPUTS: Final = ('final_result', 'output.value', 'traceloop.entity.output', 'ai.response.text')
TOKENS: Final = {
    'input': (
        INPUT_TOKENS, 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt', 'llm.usage.prompt_tokens',
        'ai.usage.inputTokens', 'ai.usage.promptTokens', 'gen_ai.response.prompt_tokens',
    ),
    'output': (
        OUTPUT_TOKENS, 'gen_ai.usage.completion_tokens', 'llm.token_count.completion',
        'llm.usage.completion_tokens', 'ai.usage.outputTokens', 'ai.usage.completionTokens',
        'gen_ai.response.completion_tokens',
    ),
    'cached': (
        CACHE_READ_TOKENS, 'gen_ai.usage.cache_read_input_tokens', 'gen_ai.usage.details.cache_read_tokens',
        'llm.token_count.prompt_details.cache_read',
    ),
    'written': (
        CACHE_WRITE_TOKENS, 'gen_ai.usage.cache_creation_input_tokens',
        'gen_ai.usage.details.cache_write_tokens', 'llm.token_count.prompt_details.cache_write',
    ),
    'reasoning': (
        REASONING_TOKENS, 'gen_ai.usage.reasoning_tokens', 'gen_ai.usage.details.reasoning_tokens',
        'llm.token_count.completion_details.reasoning', 'llm.usage.reasoning_tokens',
    ),
}  # fmt: skip
"""By field of `Usage`."""
COSTS: Final = (DOLLARS, 'operation.cost', 'gen_ai.usage.cost', 'llm.cost.total')
