"""Real surveys with a published key, and what the peers find in them."""
