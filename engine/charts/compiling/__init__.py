"""What the parts of a chart file become: records, guards, actions, templates, states."""
