"""The viewer: a conversation, live or recorded, or a flow, on one HTML page."""
