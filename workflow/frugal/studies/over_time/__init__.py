"""Policies over time: the steps of `snakemake over_time`."""
