"""Costly acquisition as a decision process: episodes of a policy, and their exact probabilities."""
