"""The cheapest actions that turn a negative decision, learned."""
