"""Types, random streams, files, sidecars and digests that every room shares. Knows no study."""
