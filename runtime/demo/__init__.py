"""A whole voice conversation without a room, an API key or a microphone."""
