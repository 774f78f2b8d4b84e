"""Traces of small workflows with scripted models, recorded from other frameworks and their instrumentation.

- `pydantic_ai.json`: Pydantic AI's own; an agent that calls another as a tool.
- `openai_agents.json`: the OpenAI Agents SDK with OpenInference; a hand-off.
- `langgraph.json`: LangGraph with OpenLLMetry; a graph with two nodes that work at once.
- `vercel_ai.json`: the Vercel AI SDK; an agent with a tool.

What says nothing of the workflow (schemas, stack traces) was taken out.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
