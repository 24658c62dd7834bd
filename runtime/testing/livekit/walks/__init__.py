"""Plays the paths of a flow on a real session: a `TurnSession` with scripted components."""

from .walk import Span, Walk, session_paths, walk_path
from .world import LiveKitWorld

__all__ = ["LiveKitWorld", "Span", "Walk", "session_paths", "walk_path"]
