"""What explains that ours is worse in a conversation: asked of a job, a sentence or a move."""

__all__: list[str] = []
