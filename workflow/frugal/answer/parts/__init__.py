"""Further contents of an answer besides its recommendation: one file each."""
