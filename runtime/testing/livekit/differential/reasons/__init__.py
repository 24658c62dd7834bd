"""Reasons why a conversation is worse on ours: asked for a job, a sentence or a move."""

__all__: list[str] = []
