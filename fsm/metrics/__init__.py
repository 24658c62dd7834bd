"""The figures of conversations, read off their journals."""

from .figures import Figures, Summary, measure, summarize
from .follower import SILENCE, Follower, values_of
from .panel import Panel, PanelCounts, Tick, panel
from .report import report_html, report_json, report_markdown, report_text
from .speech import ticks_of
from .values import (
    CAUSES,
    Blip,
    Cause,
    Cut,
    Interruption,
    Overlap,
    Part,
    Quiet,
    Refusal,
    Response,
    Silence,
    StateHeld,
    ToolEnd,
    TurnEnd,
    Value,
)
from .why import Explanation, explain, explain_at

__all__ = [
    "CAUSES",
    "SILENCE",
    "Blip",
    "Cause",
    "Cut",
    "Explanation",
    "Figures",
    "Follower",
    "Interruption",
    "Overlap",
    "Panel",
    "PanelCounts",
    "Part",
    "Quiet",
    "Refusal",
    "Response",
    "Silence",
    "StateHeld",
    "Summary",
    "Tick",
    "ToolEnd",
    "TurnEnd",
    "Value",
    "explain",
    "explain_at",
    "measure",
    "panel",
    "report_html",
    "report_json",
    "report_markdown",
    "report_text",
    "summarize",
    "ticks_of",
    "values_of",
]
