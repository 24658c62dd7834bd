"""Stores sessions, so that another worker can continue one whose worker has died."""
