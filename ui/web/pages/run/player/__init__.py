"""The player: a slider with marks, playback and jumps."""
