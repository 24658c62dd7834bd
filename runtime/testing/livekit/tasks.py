"""Ends an `AgentTask` of a scripted conversation, with every supported livekit-agents."""

from __future__ import annotations

from typing import Any

from livekit import agents
from livekit.agents import AgentTask

__all__ = ["complete"]


def complete(task: AgentTask[Any], value: object) -> Any:
    """End a task with a value.

    Returns:
        What the task's tool or its `on_enter` must return: livekit-agents 2.0 ends the task by
        that, and has no `AgentTask.complete`.
    """
    if hasattr(task, "complete"):
        task.complete(value)
        return None
    return agents.Completed(value)
