"""A whole voice conversation without a room, a key or a microphone."""
