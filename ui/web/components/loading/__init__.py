"""The first load of a page: its words, one style sheet, and the part of Quasar that pages use."""
