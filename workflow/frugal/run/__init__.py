"""The command line and what looks over results: audit, diff, benchmark, plan."""
