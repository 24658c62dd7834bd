"""Measures conversations by their journals."""

from .figures import Figures, Summary, measure, summarize
from .follower import SILENCE, Follower, values_of
from .measurements import (
    INSTRUMENTS,
    Instrument,
    Measurement,
    measurements_in,
    measurements_of,
)
from .panel import Panel, PanelCounts, Tick, panel
from .pooled import pooled
from .report import report_html, report_json, report_markdown, report_text
from .speech import ticks_of
from .tally import Tally
from .values import (
    CAUSES,
    AgentSilence,
    Blip,
    Cause,
    InterruptedSpeech,
    Interruption,
    LimitReached,
    LongWait,
    Overlap,
    Part,
    Refusal,
    Reported,
    Response,
    Silence,
    StateDuration,
    ToolEnd,
    TurnEnd,
    Value,
)
from .why import Explanation, explain, explain_at, how_it_ended

__all__ = [
    "CAUSES",
    "INSTRUMENTS",
    "SILENCE",
    "AgentSilence",
    "Blip",
    "Cause",
    "Explanation",
    "Figures",
    "Follower",
    "Instrument",
    "InterruptedSpeech",
    "Interruption",
    "LimitReached",
    "LongWait",
    "Measurement",
    "Overlap",
    "Panel",
    "PanelCounts",
    "Part",
    "Refusal",
    "Reported",
    "Response",
    "Silence",
    "StateDuration",
    "Summary",
    "Tally",
    "Tick",
    "ToolEnd",
    "TurnEnd",
    "Value",
    "explain",
    "explain_at",
    "how_it_ended",
    "measure",
    "measurements_in",
    "measurements_of",
    "panel",
    "pooled",
    "report_html",
    "report_json",
    "report_markdown",
    "report_text",
    "summarize",
    "ticks_of",
    "values_of",
]
