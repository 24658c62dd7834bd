"""Measures conversations by their journals."""
