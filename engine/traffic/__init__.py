"""What runs went through: one run's trail, and the traffic of many on one chart."""
