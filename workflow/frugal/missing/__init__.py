"""Which panels the records lack: graphs, laws, draws from them, and identification."""
