"""Simulates a flow: posts triggers, or plays a scene, and returns the verdicts as a journal."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import NEVER, Flow, Owners
from turnfsm.fsm.machine import Machine
from turnfsm.runtime.journal import LiveJournal

from .records import RecordEncoder

__all__ = ["scenes_for", "simulate"]


_FILE = tomllib.loads(Path(__file__).with_name("scenes.toml").read_text(encoding="utf-8"))


def _presses(steps: Iterable[str | Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The steps of a scene as `simulate` takes them."""
    for step in steps:
        more: dict[str, Any] = {"post": step} if isinstance(step, str) else dict(step)
        trigger, host = more.pop("post"), [*_FILE["host"], *more.pop("host", ())]
        if trigger in _FILE["parts"]:
            yield from _presses(_FILE["parts"][trigger])
        else:
            more = {"only_in" if key == "in" else key: value for key, value in more.items()}
            yield {"trigger": trigger, "host": host, **more}


def scenes_for(flow: Flow) -> list[dict[str, Any]]:
    """The scenes that a flow can play, each with ``name`` and ``presses`` for `simulate`.

    A trigger or host fact that the flow does not have is left out. A flow that is not about the
    turns of a conversation has no scenes.
    """
    known = {*flow.triggers, *flow.timers}
    asks, *_ = _FILE["parts"].values()
    if not known.issuperset(asks):
        return []
    return [
        {"name": name, "presses": [one for one in _presses(steps) if one["trigger"] in known]}
        for name, steps in _FILE["scenes"].items()
        if _FILE["needs"].get(name) in {None, *known}
    ]


_STEP = 0.5
"""Seconds between two triggers. A timer fires when it is due."""

_MOST = 2000


class _Simulation:
    def __init__(self, flow: Flow) -> None:
        self.flow, self.machine = flow, Machine(flow)
        self.journal = LiveJournal(self.machine.program, maxlen=_MOST)
        self.now = self.entered = 0.0
        self.owners = Owners()
        self._begun: dict[str, int] = {}
        self._restarted: dict[str, float] = {}

    def posts(self, press: Mapping[str, Any]) -> bool:
        """Whether a host would post this now."""
        state = self.machine.state
        least = self.flow.tuning_in(state, self.owners).min_words or 0
        words = press.get("words")
        if isinstance(words, int) and words < least:
            return False
        return press.get("only_in") in (None, state)

    def tune(self, owners: Mapping[str, Any]) -> None:
        """The settings of these hold from now on."""
        tools = tuple(map(str, owners.get("tools") or ()))
        named = (str(one) if (one := owners.get(kind)) else None for kind in ("agent", "question"))
        agent, question = named
        question = question if question in self.flow.questions else None
        self.owners = Owners(agent, tools, question)
        self.journal.seq = len(self.journal)
        self.journal.note(self.now, "settings", self.owners.fields())

    def press(self, trigger: str, stale: bool) -> None:
        flow = self.flow
        if trigger in flow.timers:
            due = self._restarted.get(trigger, self.entered) + flow.timers[trigger]
            self.now = self.now + _STEP if due == NEVER else max(self.now, due)
        else:
            self.now += _STEP
        of = self._of(trigger, stale)
        verdict = self.machine.step(trigger, of)
        if verdict.entered:
            kept = {t: self._restarted.get(t, self.entered) for t in verdict.keeps}
            self.entered, self._restarted = self.now, kept
        self._restarted |= dict.fromkeys(verdict.restarts, self.now)
        seq = len(self.journal) + 1
        after = self.machine.configuration, self.machine.tokens
        self.journal.append((seq, self.now, trigger, of, *after, verdict, None, None))

    def _of(self, trigger: str, stale: bool) -> str | None:
        """The step or turn that a trigger belongs to: a new one, the current one, or an old one."""
        program = self.machine.program
        for scope in program.begins.get(trigger, ()):
            self._begun[scope] = self._begun.get(scope, 0) + 1
            return f"{scope} {self._begun[scope]}"
        fence = program.compared.get(trigger)
        if fence is None:
            return None
        return f"{fence} {self._begun.get(fence, 0) - stale}"

    def moves(self) -> list[dict[str, Any]]:
        """The verdict that each trigger would get now."""
        machine, found = self.machine, []
        compared, begun = machine.program.compared, self._begun
        for trigger in (*self.flow.triggers, *machine.timers):
            scope = compared.get(trigger)
            verdict = machine.ask(trigger, f"{scope} {begun.get(scope, 0)}" if scope else None)
            kind = self.flow.triggers[trigger].kind if trigger in self.flow.triggers else "timer"
            said = {"taken": bool(verdict), "says": str(verdict)}
            found.append({"trigger": trigger, "kind": kind, **said})
        return found


def simulate(flow: Flow, presses: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Post triggers to a new machine.

    The same triggers give the same answers, so they can be posted again after a change of the flow.

    Args:
        presses: Each with ``trigger``; ``host``: the host facts that are true; ``stale``: the
            trigger belongs to the step or turn before the current one; ``only_in``: the only state
            in which it is posted; ``words``: the number of words said, which must be at least
            ``min_words``. Or with ``owners`` instead: the ``agent``, the ``tools`` and the
            ``question`` whose settings hold from now on.

    Returns:
        The records, the verdict that each trigger would get now, the error if a trigger could not
        be posted, the scenes that can be played, and what has settings of its own: kind, name, and
        whether they hold.
    """
    simulation, trouble, host = _Simulation(flow), None, frozenset[str]()
    for press in list(presses)[:_MOST]:
        if "owners" in press:
            simulation.tune(press["owners"])
            continue
        if not simulation.posts(press):
            continue
        host = frozenset(map(str, press.get("host") or ()))
        simulation.machine.set_host_facts({name: name in host for name in flow.host_facts})
        try:
            simulation.press(str(press.get("trigger")), press.get("stale") is True)
        except TurnfsmError as error:  # the flow was changed since it was pressed
            trouble = str(error)
            break
    journal = simulation.journal.read()
    return {
        "records": RecordEncoder(flow).all(journal.records),
        "moves": simulation.moves(),
        "host": list(flow.host_facts),
        "scenes": scenes_for(flow),
        "trouble": trouble,
        "owners": [
            {"kind": kind, "name": name, "on": simulation.owners.own(kind, name)}
            for kind, name, _, _ in flow.tunings
            if kind != "state"
        ],
    }
