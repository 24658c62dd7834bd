"""Writes flows for other tools."""
