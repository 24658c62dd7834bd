"""Finds failures in recorded sessions: LiveKit's events, spans, journals."""
