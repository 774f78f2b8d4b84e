"""What pages that show a run share: its context, step mode, approvals and questions."""
