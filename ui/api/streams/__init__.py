"""Live streams: a run's steps and streamed text, and the list of runs, as events and over a socket."""
