"""State diagrams as SVG: rendered by Graphviz, folded, with layers of data; and no browser needed."""
