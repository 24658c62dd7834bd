"""Stores of sessions: another worker can continue a session whose worker has died."""
