"""What an interruption does to a tool call: set by the flow, by a decorator, or by default."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar, cast, get_args

from turnfsm.fsm import FlowError, TurnfsmError
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, near, quoted
from turnfsm.fsm.flow import Flow, Policy, Tools
from turnfsm.fsm.source import Path
from turnfsm.runtime.orphaned_call import OrphanedCall

__all__ = [
    "check_arguments",
    "check_names",
    "check_names_of_agents",
    "is_once",
    "on_interruption",
    "once",
    "policy_of",
    "recover_of",
    "recover_with",
]

logger = logging.getLogger("turnfsm")

Tool = TypeVar("Tool")

_POLICY = "__turnfsm_interrupted__"
_ONCE = "__turnfsm_once__"
_RECOVER = "__turnfsm_recover__"

_ONE_LETTER = 0.85
"""The similarity, from 0 to 1, of names that differ by a letter or two."""


Recover = Callable[[OrphanedCall], object]
"""Returns the result of the call, or a coroutine that does."""


def on_interruption(policy: Policy) -> Callable[[Tool], Tool]:
    """Set what an interruption of the turn does to a tool.

    Put it above or below ``@function_tool``.

    Args:
        policy: ``cancel``: the call is cancelled. ``detach``: it continues in the background, and
            its result is delivered later. ``finish``: the interruption waits for it, up to the
            timer ``finish_limit``. ``hold``: its turn cannot be interrupted. If a ``finish`` or
            ``hold`` tool returns an agent, after the preamble was heard and with no other call
            running, its turn stays uninterruptible until the handoff has begun.

    Returns:
        The decorator.

    Raises:
        TurnfsmError: There is no such policy.

    Example:
        >>> @on_interruption("cancel")
        ... async def search(query: str) -> str:
        ...     '''Search the catalogue.'''
        ...     return "three books"
    """
    if callable(policy):
        raise TurnfsmError("@on_interruption needs a policy: write @on_interruption('hold')")
    if policy not in get_args(Policy):
        raise TurnfsmError(f"no policy {policy!r}; {near(policy, get_args(Policy))}")

    return lambda tool: _mark(tool, _POLICY, policy)


def once(tool: Tool) -> Tool:
    """Decorate a tool that should run only once if a turn makes the same call twice.

    The second call, with the same arguments, gets the result of the first one; its output says so.
    If the first call raised an error, the tool runs again. Without this decorator a tool runs for
    every call.

    Args:
        tool: The tool, above or below ``@function_tool``.

    Returns:
        The same tool.

    Example:
        >>> @once
        ... async def transfer_money(amount: int) -> str:
        ...     '''Transfer money.'''
        ...     return f"transferred {amount}"
    """
    return _mark(tool, _ONCE, True)


def recover_with(recover: Recover) -> Callable[[Tool], Tool]:
    """Decorate a tool with a function that finds the outcome of a call whose worker died.

    Args:
        recover: Takes an `OrphanedCall` and returns the result of the call. It raises `NotMade` if
            the call never took effect, and any other error if it cannot tell: the model then reads
            that the outcome is unknown. It may be asynchronous, and must finish within 5 s.

    Returns:
        The decorator.

    Example:
        >>> charges = {}  # at the bank
        >>> def find_charge(call: OrphanedCall) -> str:
        ...     if call.key not in charges:
        ...         raise NotMade
        ...     return f"charged {charges[call.key]}"
        >>> @recover_with(find_charge)
        ... async def charge_card(amount: int) -> str:
        ...     '''Charge the card.'''
        ...     return f"charged {amount}"
    """
    if not callable(recover):
        raise TurnfsmError(
            f"recover_with({recover!r}): give the function that finds out: @recover_with(find)"
        )

    return lambda tool: _mark(tool, _RECOVER, recover)


def recover_of(tool: object) -> Recover | None:
    """The function of `recover_with`; None if the tool has none."""
    return cast(Recover | None, _marked(tool, _RECOVER))


def policy_of(name: str, tool: object, tools: Tools) -> Policy:
    """The policy in the flow for this name, else the decorator's, else the flow's default."""
    decorated = cast(Policy | None, _marked(tool, _POLICY))
    return tools.by_name.get(name) or decorated or tools.interrupted


def is_once(name: str, tool: object, tools: Tools) -> bool:
    """Whether the tool runs once if a turn makes the same call twice."""
    return name in tools.once or bool(_marked(tool, _ONCE))


def check_arguments(flow: Flow, tool: str, parameters: Collection[str]) -> None:
    """Check that the flow's confirmation and correction of a tool name only parameters that it
    has.

    Args:
        flow: The flow.
        tool: Its name.
        parameters: The names of its parameters.

    Raises:
        FlowError: A parameter does not exist. The error has the place in the file.
    """
    confirm, correction = flow.tools.confirm.get(tool), flow.tools.corrects.get(tool)
    named: list[tuple[Path, Iterable[str]]] = []
    if confirm is not None:
        named += [(("confirm", tool, "say"), confirm.arguments)]
        named += [(("confirm", tool, "when", name), (name,)) for name in confirm.when]
    if correction is not None:
        named += [(("corrects", tool, "same"), correction.same)]
    for path, names in named:
        for name in names:
            if name not in parameters:
                message = f"{tool} has no parameter {quoted(name)}"
                at = _at(flow, ("tools", *path), message, near(name, parameters), "parameter")
                raise FlowError(at.render(), [at])


def check_names(flow: Flow, known: Collection[str]) -> None:
    """Check the names of the tools in the flow.

    A name that resembles no tool is accepted: a later agent may have that tool. For the same reason
    a name that does resemble one is only logged, with the place in the file.

    Args:
        flow: The flow.
        known: The names of all tools so far.

    Raises:
        FlowError: The user is asked about a tool whose name is probably misspelt, and that the
            flow does not declare with `later`: it would run without a yes. The error has the
            place in the file.
    """
    confirm = flow.tools.confirm
    for tool, path in flow.named_tools.items():
        if tool in known or not (meant := closest(tool, known, alike=0.6)):
            continue
        message, remedy = f"no agent has the tool {quoted(tool)}", f"did you mean {quoted(meant)}?"
        asked = tool in confirm and meant not in confirm and not confirm[tool].later
        if asked and closest(tool, known, alike=_ONE_LETTER):
            message += f", so {quoted(meant)} would run without a question"
            remedy += f" If a later agent has {quoted(tool)}, write 'later: true' below it"
            at = _at(flow, ("tools", "confirm", tool), message, remedy, "tool")
            raise FlowError(at.render(), [at])
        remedy += " A later agent may have the tool: then nothing needs to be changed"
        at = _at(flow, path, message, remedy, "tool", "warning")
        logger.warning("%s: %s; %s", at.place, at.message, at.remedy)


def check_names_of_agents(flow: Flow, known: Collection[str]) -> None:
    """Log a warning for each name in `overlays` that no agent has, and that resembles one's.

    Args:
        flow: The flow.
        known: The ids of all agents so far.
    """
    for agent in flow.overlays:
        if agent not in known and (meant := closest(agent, known, alike=0.6)):
            message, remedy = f"no agent is {quoted(agent)}", f"did you mean {quoted(meant)}?"
            remedy += " A later agent may have the id: then nothing needs to be changed"
            at = _at(flow, ("overlays", agent), message, remedy, "agent", "warning")
            logger.warning("%s: %s; %s", at.place, at.message, at.remedy)


def _at(
    flow: Flow, path: Path, message: str, remedy: str, unknown: str, severity: str = "error"
) -> Finding:
    """A finding about a name; the last part of the path is a key, unless the value has the name."""
    code = f"unknown-{unknown}"
    if flow.source is None:
        return Finding(0, 0, 0, message, remedy, code, severity, file=flow.name)
    place = flow.source.value if path[-1] in ("say", "same") else flow.source.key
    return place(path).finding(message, remedy, code=code, severity=severity)


def _mark(tool: Tool, mark: str, value: object) -> Tool:
    # A tool that is a method is rebuilt for each agent, from the wrapped function.
    for marked in (tool, getattr(tool, "__wrapped__", tool)):
        try:
            setattr(marked, mark, value)
        except AttributeError:
            raise TurnfsmError(f"{tool!r} is no tool; decorate the tool's function") from None
    return tool


def _marked(tool: object, mark: str) -> object:
    wrapped = getattr(tool, "__wrapped__", None)
    return getattr(tool, mark, None) or getattr(wrapped, mark, None)
