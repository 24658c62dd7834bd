"""The figures of conversations: latencies, interruptions, silences and their causes, rates.

Example:
    >>> from turnfsm.metrics import Tick, panel
    >>> ticks = [Tick(agent=True)] * 3 + [Tick(user=True, agent=True)] * 2 + [Tick(user=True)] * 9
    >>> panel([ticks]).yield_rate
    1.0
"""

from turnfsm.fsm.metrics.compared import by_time
from turnfsm.fsm.metrics.figures import Figures, Summary, measure, summarize
from turnfsm.fsm.metrics.measurements import INSTRUMENTS, Instrument, Measurement, measurements_of
from turnfsm.fsm.metrics.measuring import values_of
from turnfsm.fsm.metrics.panel import Panel, PanelCounts, Tick, panel
from turnfsm.fsm.metrics.report import report
from turnfsm.fsm.metrics.speech import ticks_of
from turnfsm.fsm.metrics.values import (
    CAUSES,
    AgentSilence,
    Blip,
    Cause,
    InterruptedSpeech,
    Interruption,
    LongWait,
    Overlap,
    Part,
    Refusal,
    Response,
    Silence,
    StateDuration,
    ToolEnd,
    TurnEnd,
    Value,
)
from turnfsm.fsm.metrics.why import Explanation, explain, explain_at

__all__ = [
    "CAUSES",
    "INSTRUMENTS",
    "AgentSilence",
    "Blip",
    "Cause",
    "Explanation",
    "Figures",
    "Instrument",
    "InterruptedSpeech",
    "Interruption",
    "LongWait",
    "Measurement",
    "Overlap",
    "Panel",
    "PanelCounts",
    "Part",
    "Refusal",
    "Response",
    "Silence",
    "StateDuration",
    "Summary",
    "Tick",
    "ToolEnd",
    "TurnEnd",
    "Value",
    "by_time",
    "explain",
    "explain_at",
    "measure",
    "measurements_of",
    "panel",
    "report",
    "summarize",
    "ticks_of",
    "values_of",
]


def __dir__() -> list[str]:
    return __all__
