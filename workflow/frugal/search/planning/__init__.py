"""The algorithms behind planners: backward induction, stopping statistics, what was done before."""
