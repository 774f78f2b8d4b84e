"""Traces of small workflows with scripted models, recorded from other frameworks and their instrumentation.

- `pydantic_ai.json`: Pydantic AI's own instrumentation; an agent that calls another as a tool.
- `openai_agents.json`: the OpenAI Agents SDK with OpenInference; a hand-off.
- `langgraph.json`: LangGraph with OpenLLMetry; a graph with two parallel nodes.
- `vercel_ai.json`: the Vercel AI SDK; an agent with a tool.
- `openlit.json`: OpenLIT with the OpenAI client; an agent with a tool.
- `openinference.json`: OpenInference's decorators; a function that calls a model.
- `langfuse.json`: Langfuse's SDK with the OpenAI client; an agent with a tool.
- `semantic_kernel.json`: Semantic Kernel in Python, whose messages are in logs; an agent with a tool.

Parts unrelated to the workflow (schemas, stack traces) were removed.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
