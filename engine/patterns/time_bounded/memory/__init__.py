"""The time-bounded loop's memory: goal, plans, messages, time, and the answers of its agents."""
