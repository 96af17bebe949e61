"""What an answer may hold besides its recommendation: one file each."""
