"""The wall: agents of several runs side by side, answered and stopped in place."""
