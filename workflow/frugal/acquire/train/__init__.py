"""One file a trainer: how policies learn."""
