"""The tools page: tools, the roles that use them, and a form to try each."""
