"""Commands of agents: in a sandbox, within limits; and the tests that they run."""
