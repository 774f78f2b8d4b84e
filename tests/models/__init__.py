"""The clients of model providers, against real servers on loopback and recorded streams."""
