"""Agent panes: state, conversation, tool calls and approvals."""
