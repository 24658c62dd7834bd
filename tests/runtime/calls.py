"""A small flow with one of everything, and a host that writes down what it is asked to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from flow_text import parsed

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import Flow

__all__ = ["FLOW", "Host", "flow_of", "runtime"]

FLOW = """
flow: call
initial: idle
scopes:
  step: {begins: step_started, ends: [step_finished, settle]}
facts:
  session:
    user_speaking: {set_by: user_started, cleared_by: user_stopped}
  step:
    heard: {set_by: playout_started}
  host: {allowed, quiet}
requests: {ring, barge_in}
events:
  user_started: {}
  user_stopped: {}
  step_started: {of: step}
  playout_started: {of: step}
  step_finished: {of: step}
  tick: {}
  again: {}
  fetched: {}
  fetch_failed: {}
timers: {patience: 2.0, limit: 10.0, settle: 0.5, nag: 3.0}
actions:
  greet: {}
  thank: {}
  fetch: {owner: state, done: fetched, failed: fetch_failed}
  watch: {owner: step}
  record: {owner: session}
  hush: {}
  count: {}
  look: {}
states:
  idle:
    on:
      ring: {dest: busy, conditions: [allowed], unless: [user_speaking], actions: [greet, thank]}
      step_started: {dest: talking, actions: [watch, record]}
      tick: {actions: [count]}
      fetched: {actions: [look]}
      fetch_failed: {actions: [look]}
  busy:
    on:
      tick: {actions: [count]}
      again: {dest: busy}
      fetched: {dest: idle, actions: [thank]}
      fetch_failed: {dest: idle, actions: [hush]}
      step_started: {dest: talking, actions: [fetch, watch, record]}
      user_stopped: {dest: idle}
    after:
      patience: {dest: idle, unless: [user_speaking]}
      limit: {dest: idle, actions: [hush]}
      nag: {actions: [count]}
    refuses: [ring]
  talking:
    on:
      again: {dest: talking, actions: [watch]}
      tick: {actions: [fetch]}
      playout_started: {}
      step_finished: {dest: idle}
      barge_in: {dest: busy, conditions: [quiet], actions: [hush]}
      fetched: {dest: busy}
      fetch_failed: {dest: busy, actions: [look]}
      user_started: {dest: stopping}
  stopping:
    after:
      settle: {dest: idle, actions: [hush]}
"""


def flow_of(text: str = FLOW) -> Flow:
    """The flow of a YAML text, another object each time."""
    return attrs.evolve(parsed(text))


class Host:
    """Writes every action down; an action that is in `does` also does that."""

    def __init__(self, **does: Callable[[Event], Any]) -> None:
        self.does = does
        self.done: list[str] = []
        self.events: list[Event] = []
        self.asked: list[str] = []
        self.answers: dict[str, Callable[[], bool]] = {}

    def _do(self, action: str, event: Event) -> Any:
        self.done.append(action)
        self.events.append(event)
        return self.does[action](event) if action in self.does else None

    def _answer(self, fact: str) -> bool:
        self.asked.append(fact)
        return self.answers.get(fact, lambda: True)()

    def allowed(self) -> bool:
        return self._answer("allowed")

    def quiet(self) -> bool:
        return self._answer("quiet")

    def greet(self, event: Event) -> Any:
        return self._do("greet", event)

    def thank(self, event: Event) -> Any:
        return self._do("thank", event)

    def fetch(self, event: Event) -> Any:
        return self._do("fetch", event)

    def watch(self, event: Event) -> Any:
        return self._do("watch", event)

    def record(self, event: Event) -> Any:
        return self._do("record", event)

    def hush(self, event: Event) -> Any:
        return self._do("hush", event)

    def count(self, event: Event) -> Any:
        return self._do("count", event)

    def look(self, event: Event) -> Any:
        return self._do("look", event)


def runtime(host: Host | None = None, **options: Any) -> TurnRuntime:
    """A runtime of the flow above."""
    return TurnRuntime(_FLOW, host or Host(), **options)


_FLOW = flow_of()
