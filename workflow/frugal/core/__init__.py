"""Types, random streams, rows and declarations that every room shares. Knows no study."""
