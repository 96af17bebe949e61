"""The command line and checks of results: audit, diff, benchmark, plan."""
