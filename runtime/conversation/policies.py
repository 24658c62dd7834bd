"""What becomes of a tool call whose turn is interrupted: by name, by decorator, by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.errors import near
from turnfsm.fsm.flow import Policy, Tools

__all__ = ["check_tool_names", "is_repeatable", "on_interruption", "policy_of", "repeatable"]

Tool = TypeVar("Tool")

_POLICY = "__turnfsm_interrupted__"
_REPEATABLE = "__turnfsm_repeatable__"


def on_interruption(policy: Policy) -> Callable[[Tool], Tool]:
    """Decorate a tool with its policy; above or below ``@function_tool``.

    Raises:
        TurnfsmError: There is no such policy.
    """
    if policy not in get_args(Policy):
        raise TurnfsmError(f"no policy {policy!r}; {near(policy, get_args(Policy))}")

    def decorate(tool: Tool) -> Tool:
        setattr(tool, _POLICY, policy)
        # A tool that is a method is built again for each agent, from the function it wraps.
        setattr(getattr(tool, "__wrapped__", tool), _POLICY, policy)
        return tool

    return decorate


def repeatable(tool: Tool) -> Tool:
    """Decorate a tool that is executed again when a turn repeats a call."""
    setattr(tool, _REPEATABLE, True)
    setattr(getattr(tool, "__wrapped__", tool), _REPEATABLE, True)
    return tool


def policy_of(name: str, tool: Any, tools: Tools) -> Policy:
    """The flow's word for this name, else the decorator's, else the flow's default."""
    decorated: Policy | None = _marked(tool, _POLICY)
    return tools.by_name.get(name) or decorated or tools.interrupted


def is_repeatable(name: str, tool: Any, tools: Tools) -> bool:
    """Whether an identical call of a turn is executed again."""
    return name in tools.repeatable or bool(_marked(tool, _REPEATABLE))


def check_tool_names(tools: Tools, known: Iterable[str]) -> None:
    """Refuse a name in the flow that is nearly a tool's.

    Names that are far from all are left alone: they may be tools of an agent yet to come.

    Raises:
        TurnfsmError: A name is misspelt.
    """
    names = set(known)
    for name in (*tools.by_name, *tools.repeatable):
        remedy = near(name, names)
        if name not in names and remedy.startswith("did you mean"):
            raise TurnfsmError(
                f"the flow names the tool {name!r}, which the agent has not; {remedy}"
            )


def _marked(tool: Any, mark: str) -> Any:
    wrapped = getattr(tool, "__wrapped__", None)
    return getattr(tool, mark, None) or getattr(wrapped, mark, None)
