"""The parts of the time-bounded loop: protocol, planning, timing, decisions and reports."""
