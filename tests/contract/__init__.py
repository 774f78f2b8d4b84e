"""The contracts of every journal, pattern, model and tool, plug-ins included."""
