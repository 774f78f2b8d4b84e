"""Provider dialects: requests, streams, errors."""
