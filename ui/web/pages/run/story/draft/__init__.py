"""The draft of a chart, as the person sees it who decides about it."""
