"""The viewer: a conversation, live or recorded, on one HTML page."""

from .journal_page import journal_data, journal_page

__all__ = ["journal_data", "journal_page"]
