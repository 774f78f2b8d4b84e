"""What starting a run needs, on any page: options, models, samples and recordings."""
