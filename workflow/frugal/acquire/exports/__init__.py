"""Policies as texts that other systems run: rules in JSON, SQL, a form of REDCap."""
