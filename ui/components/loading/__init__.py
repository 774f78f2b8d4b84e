"""What a page loads first: its words, one style sheet, and the part of Quasar that pages use."""
