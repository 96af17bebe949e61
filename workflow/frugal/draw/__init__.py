"""The one look of all figures: sizes, colours, marks."""
