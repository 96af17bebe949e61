"""The kind of agent that the study learns."""
