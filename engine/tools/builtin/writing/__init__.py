"""Writing tools: outline, sections, posts, publishing."""
