"""Plays the same conversation on two sessions and compares what caller and application get.

Nothing here reads a flow, a journal or a ledger: the measures work for any two sessions.
"""

from .agents import Clerk
from .declared import DECLARED, Declared, explained
from .jobs import ENDS, POLICIES, WAITS, Job, JobRun, Jobs
from .many import Judged, judge_plan, judge_plans, shrink
from .measures import Measures
from .memory import objects_per_turn
from .pair import Pair, play_pair
from .plan import Answer, Move, Plan, Sound, draw_plan, shrunk
from .sweep import answer_plans, sweep_plans
from .worse import Worse, worse

__all__ = [
    "DECLARED",
    "ENDS",
    "POLICIES",
    "WAITS",
    "Answer",
    "Clerk",
    "Declared",
    "Job",
    "JobRun",
    "Jobs",
    "Judged",
    "Measures",
    "Move",
    "Pair",
    "Plan",
    "Sound",
    "Worse",
    "answer_plans",
    "draw_plan",
    "explained",
    "judge_plan",
    "judge_plans",
    "objects_per_turn",
    "play_pair",
    "shrink",
    "shrunk",
    "sweep_plans",
    "worse",
]
