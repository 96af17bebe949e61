"""The algorithms behind planners: backward induction, stopping statistics, imitation."""
