"""Where failures of livekit-agents are reported."""

from __future__ import annotations

__all__ = ["ISSUES", "JS_ISSUES", "PULLS"]

ISSUES = "https://github.com/livekit/agents/issues/"
PULLS = "https://github.com/livekit/agents/pull/"
JS_ISSUES = "https://github.com/livekit/agents-js/issues/"
