"""The pages: one folder each; `ui.server.app` registers them."""
