"""Which panels the records lack: missingness graphs, draws from them, and what they identify."""
