"""What an interruption does to a tool call: set by the flow, by a decorator, or by default."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar, cast, get_args

from turnfsm.fsm import FlowError, TurnfsmError
from turnfsm.fsm.errors import closest, near, quoted
from turnfsm.fsm.flow import Flow, Policy, Tools
from turnfsm.fsm.source import Path
from turnfsm.runtime.cut_off_call import CutOffCall

__all__ = [
    "check_arguments",
    "check_names",
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


Recover = Callable[[CutOffCall], object]
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

    def decorate(tool: Tool) -> Tool:
        setattr(tool, _POLICY, policy)
        # A tool that is a method is rebuilt for each agent, from the wrapped function.
        setattr(getattr(tool, "__wrapped__", tool), _POLICY, policy)
        return tool

    return decorate


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
    setattr(tool, _ONCE, True)
    setattr(getattr(tool, "__wrapped__", tool), _ONCE, True)
    return tool


def recover_with(recover: Recover) -> Callable[[Tool], Tool]:
    """Decorate a tool with a function that finds the outcome of a call whose worker died.

    Args:
        recover: Takes a `CutOffCall` and returns the result of the call. It raises `NotMade` if the
            call never took effect, and any other error if it cannot tell: the model then reads that
            the outcome is unknown. It may be asynchronous, and must finish within 5 s.

    Returns:
        The decorator.

    Example:
        >>> charges = {}  # at the bank
        >>> def find_charge(call: CutOffCall) -> str:
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

    def decorate(tool: Tool) -> Tool:
        setattr(tool, _RECOVER, recover)
        setattr(getattr(tool, "__wrapped__", tool), _RECOVER, recover)
        return tool

    return decorate


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
    places: list[tuple[Path, Iterable[str]]] = []
    if confirm is not None:
        places += [(("confirm", tool, "say"), confirm.arguments)]
        places += [(("confirm", tool, "when"), confirm.when)]
    if correction is not None:
        places += [(("corrects", tool, "same"), correction.same)]
    for path, named in places:
        for name in named:
            if name in parameters:
                continue
            message = f"{tool} has no parameter {quoted(name)}"
            remedy = near(name, parameters)
            if flow.source is None:
                raise FlowError(f"{message}; {remedy}")
            where: Path = ("tools", *path)
            at = flow.source.at(where, message, remedy, code="unknown-parameter")
            if path[-1] == "when":
                at = flow.source.at_key((*where, name), message, remedy, code=at.code)
            raise FlowError(at.render(), [at])


def check_names(flow: Flow, known: Collection[str]) -> None:
    """Check the names of the tools in the flow. A misspelt one is logged as a warning.

    A name that resembles no tool is accepted: a later agent may have that tool.

    Args:
        flow: The flow.
        known: The names of all tools so far.

    Raises:
        FlowError: The user is asked about a tool whose name is probably misspelt, and that the
            flow does not declare with `later`: it would run without a yes. The error has the
            place in the file.
    """
    for tool, meant in _misspelt(flow.tools.confirm, known, alike=_ONE_LETTER):
        if meant in flow.tools.confirm or flow.tools.confirm[tool].later:
            continue  # a later agent has the tool
        message = f"no agent has the tool {quoted(tool)}, so it runs without a question"
        remedy = (
            f"did you mean {quoted(meant)}? If a later agent has {quoted(tool)}, "
            "write 'later: true' below it"
        )
        if flow.source is None:
            raise FlowError(f"{message}; {remedy}")
        at = flow.source.at_key(("tools", "confirm", tool), message, remedy, code="unknown-tool")
        raise FlowError(at.render(), [at])
    for name, meant in _misspelt(flow.named_tools, known):
        logger.warning(
            "the flow names the tool %r, which no agent has so far; did you mean %r? Tools that an "
            "agent gets later are not known yet",
            name,
            meant,
        )


def _misspelt(
    tools: Iterable[str], known: Collection[str], *, alike: float = 0.6
) -> Iterator[tuple[str, str]]:
    """The names that look misspelt, each with the name that was probably meant."""
    for name in tools:
        if name not in known and (meant := closest(name, known, alike=alike)):
            yield name, meant


def _marked(tool: object, mark: str) -> object:
    wrapped = getattr(tool, "__wrapped__", None)
    return getattr(tool, mark, None) or getattr(wrapped, mark, None)
