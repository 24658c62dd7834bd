"""Actions and host facts of the application, in addition to those of the turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

from turnfsm.fsm import Flow, HostError
from turnfsm.fsm.errors import near
from turnfsm.fsm.sound import Sound, read_sound

from .classifying import Judge, deadline_of
from .host import TurnHost

__all__ = ["CustomHost", "host_fact", "sound_of", "turn_action"]

logger = logging.getLogger("turnfsm")

_F = TypeVar("_F", bound=Callable[..., object])

_MARK = "__turnfsm_host__"


def turn_action(method: _F) -> _F:
    """Mark a method of an agent or a session as the action of the same name.

    An asynchronous method runs as a task, which is cancelled when the action's ``owner`` ends. When
    the task has ended, the trigger in ``done`` is posted; if it raised, the one in ``failed``.

    Args:
        method: Takes the `Event` that chose the action.

    Returns:
        The same method.

    Example:
        >>> from turnfsm import Event
        >>> class Support:  # an agent of the framework
        ...     @turn_action
        ...     async def ring_supervisor(self, event: Event) -> None:
        ...         print("ringing")
    """
    setattr(method, _MARK, "action")
    return method


def host_fact(method: _F) -> _F:
    """Mark a method of an agent or a session as the host fact of the same name.

    Args:
        method: Takes nothing and returns True or False. It must be synchronous: it is called during
            a decision.

    Returns:
        The same method.

    Example:
        >>> class Support:  # an agent of the framework
        ...     supervisors = 1
        ...     @host_fact
        ...     def supervisor_online(self) -> bool:
        ...         return self.supervisors > 0
    """
    setattr(method, _MARK, "host fact")
    return method


class CustomHost:
    """The host of one session: the turn's own methods, and those of the application.

    A host fact with phrases depends on what the user said, and one with tools on the running calls.
    They need no method, and neither does an action that says a text or plays a sound. A classifier,
    if there is one, takes the place of the phrases. Every other method is looked up in the turn's
    own host, then in ``actions`` (any method of that name), then among the marked methods of the
    session, and finally in the current agent.

    Args:
        flow: The flow whose actions and host facts are needed.
        turn: The turn's own host.
        session: A session, whose class may mark methods.
        actions: The argument of `TurnSession`.
        agent: Returns the current agent; None if there is none.

    Attributes:
        left_to_agent: The names that only the agent can implement, with marked methods.

    Raises:
        HostError: ``actions`` was given, and a method is missing.
    """

    def __init__(
        self,
        flow: Flow,
        turn: TurnHost,
        session: object,
        actions: object | None,
        agent: Callable[[], object],
    ) -> None:
        self._flow = flow
        self._agent = agent
        self._turn = turn
        self.left_to_agent: list[str] = []
        self._warned: set[str] = set()
        marked = self._marked(session)
        for name in (*flow.actions, *flow.host_facts):
            if name in flow.phrases:
                own = getattr(actions, name, None) or marked.get(name)
                setattr(self, name, partial(self._has_said, name, own))
                continue
            if name in flow.facts and (tools := flow.facts[name].tools):
                setattr(self, name, partial(turn.waits_for, tools))
                continue
            if name in flow.actions and (action := flow.actions[name]).audible:
                setattr(self, name, partial(turn.speeches.say, name, action, sound_of(flow, name)))
                continue
            method = self._of_turn(name) or getattr(actions, name, None) or marked.get(name)
            if not callable(method):
                self.left_to_agent.append(name)
                method = self._of_agent(name)
            elif deadline_of(method) is not None:
                method = partial(turn.classifiers.ask, name, cast(Judge, method), False)
            setattr(self, name, method)
        if actions is not None and self.left_to_agent:
            raise self._lacking(actions, self.left_to_agent, "add a method of that name")

    def check_agent(self, agent: object) -> None:
        """Check that an agent has the marked methods that the flow needs.

        Raises:
            HostError: A method is missing. The message names the agent's class.
        """
        marked = self._marked(agent)
        self._warn_of_unused(agent, marked)
        if missing := [name for name in self.left_to_agent if name not in marked]:
            remedy = "mark a method with @turn_action or @host_fact, or give TurnSession actions="
            raise self._lacking(agent, missing, remedy)

    def _warn_of_unused(self, agent: object, marked: Iterable[str]) -> None:
        """Warn of marked methods that the flow never uses."""
        known = {*self._flow.actions, *self._flow.host_facts}
        kind = type(agent)
        for name in {*marked} - known - self._warned:
            self._warned.add(name)
            logger.warning(
                "%s.%s is marked as %s, but the flow %r has no action or host fact of that name; "
                "%s",
                *(kind.__name__, name, _marks(kind)[name], self._flow.name, near(name, known)),
            )

    def _of_turn(self, name: str) -> Callable[..., object] | None:
        parts = self._turn, self._turn.confirming
        return next(filter(callable, (getattr(part, name, None) for part in parts)), None)

    def _of_agent(self, name: str) -> Callable[..., object]:
        def call(*event: object) -> object:
            agent = self._agent()
            if agent is None:
                raise HostError(f"no agent is active that has {self._kind(name)} {name!r}")
            self.check_agent(agent)
            method = self._marked(agent)[name]
            if deadline_of(method) is not None:
                return self._turn.classifiers.ask(name, cast(Judge, method), False)
            return method(*event)

        return call

    def _has_said(self, name: str, own: object) -> bool:
        by_phrases = self._turn.has_said(self._flow.phrases[name])
        if deadline_of(own) is None:
            agent = self._agent()
            if _marks(type(agent)).get(name) != "classifier":
                return by_phrases
            own = getattr(agent, name)
        return self._turn.classifiers.ask(name, cast(Judge, own), by_phrases)

    def _marked(self, owner: object) -> Mapping[str, Callable[..., object]]:
        found = {}
        for name, mark in _marks(type(owner)).items():
            if self._of_turn(name) is not None:
                raise HostError(
                    f"{type(owner).__name__}.{name} is marked as {mark}, and the turn has one of "
                    "that name itself; give yours another name"
                )
            found[name] = getattr(owner, name)
        return found

    def _lacking(self, who: object, names: Iterable[str], remedy: str) -> HostError:
        missing = [f"the {self._kind(name)} {name!r}" for name in names]
        return HostError(
            f"flow {self._flow.name!r} needs {', '.join(missing)}, which {type(who).__name__} does "
            f"not implement; {remedy}, or take it out of the flow"
        )

    def _kind(self, name: str) -> str:
        return "action" if name in self._flow.actions else "host fact"


_MARKS: WeakKeyDictionary[type, Mapping[str, str]] = WeakKeyDictionary()


def _marks(kind: type) -> Mapping[str, str]:
    """The marked methods of a class, with their marks. Cached, as decisions read them."""
    if (cached := _MARKS.get(kind)) is not None:
        return cached
    marks: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            mark: str | None = getattr(value, _MARK, None)
            if deadline_of(value) is not None:
                mark = "classifier"
            if mark is not None:
                marks[name] = mark
            elif name in marks:
                del marks[name]
    _MARKS[kind] = marks
    return marks


def sound_of(flow: Flow, action: str) -> Sound | None:
    """The sound that an action plays.

    Raises:
        HostError: It cannot be played.
    """
    if (file := flow.actions[action].audio) is None:
        return None
    path = Path(file)
    if flow.source is not None:
        path = flow.source.beside(("actions", action, "audio"), file)
    try:
        return read_sound(path)
    except ValueError as exc:
        raise HostError(f"action {action!r} cannot play {file!r}: {exc}") from None
