"""The proof of one flow: explore, judge each property, and collect the findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from turnfsm.fsm.bounds import AT_LEAST
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.machine import Program
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Page, Source
from turnfsm.fsm.source import Path as Place

from .advice import event_advice, loop_advice, timer_advice
from .agenda import REST, agenda_finding, explore_joint, explore_table
from .cause import by_cause, placed
from .claims import (
    declared,
    has_agenda,
    lacking_vocabulary,
    notes,
    too_many_host_facts,
    wrong_waivers,
)
from .delays import Delay, delays_of, unmet
from .explore import Exploration, Violation, explore
from .leads import Outcome, judge, total, waits
from .maker import declared_rules
from .parts import Bits
from .report import PropertyResult, Report, Result
from .restless import Wait
from .shape import aside_facts, deadlocks, structure_findings
from .space import StateSpace
from .trace import Trace, trace
from .turn import AGENDA, PROPERTIES, missing, turn_world
from .turn_rules import turn_rules
from .unheard import NO_SILENCE, rows_of, unheard, unheard_advice

__all__ = ["Proof"]

_KINDS = ("never", "always", "leads_to")


class Proof:
    """One proof in progress."""

    def __init__(self, flow: Flow, limit: int) -> None:
        self.started = perf_counter()
        self.flow, self.limit = flow, limit
        self.source = flow.source or Source(Page(flow.name, ""))
        program, world = Program(flow), turn_world(flow)
        self.bits = Bits(program, world)
        self.rules = [*declared_rules(flow, self.bits), *turn_rules(flow, self.bits)]
        self.bits.host_facts |= self.bits.mask(aside_facts(flow, self.bits, self.rules))
        self.model = StateSpace(program, world, self.bits, self.rules)
        self.findings: list[Finding] = []
        self.traces: dict[Finding, Trace] = {}
        self.missing: dict[Finding, str] = {}
        self.failed: set[tuple[bool, str]] = set()
        self.worst: dict[tuple[bool, str], str] = {}
        self.joined = False
        self._times: tuple[Delay, ...] | None = None

    def report(self) -> Report:
        return self.concluded(self.explored())

    def times(self) -> tuple[Delay, ...]:
        """The delays that a caller notices; none if the flow is too large."""
        exploration = self.explored()
        return self.delays(exploration) if exploration.complete else ()

    def delays(self, exploration: Exploration) -> tuple[Delay, ...]:
        """The delays that a caller notices, of what was explored."""
        if self._times is None:
            self._times = tuple(delays_of(self.model, exploration))
        return self._times

    def explored(self, first: bool = False) -> Exploration:
        """Visit every configuration, or all until the first violation."""
        self.findings += too_many_host_facts(self.model, self.source)
        if self.findings:
            return Exploration({self.model.initial: None}, complete=False)
        return explore(self.model, self.limit, first)

    def concluded(self, exploration: Exploration) -> Report:
        for violation in exploration.violations.values():
            self._broken(exploration, violation)
        if exploration.complete:
            self._liveness(exploration)
            self._silence(exploration)
            self._bounds(exploration)
            self._deadlocks(exploration)
        elif exploration.transitions:
            self._gave_up(exploration)
        self.findings += structure_findings(self.model, exploration, self.source)
        self.findings += wrong_waivers(self.flow, self.source)
        self.findings += lacking_vocabulary(self.flow, self.source)
        self._agenda(exploration.complete)
        file = self.source.file
        return Report(
            file=file,
            flow=self.flow.name,
            findings=tuple(by_cause(self.findings, self.traces, self.missing)),
            properties=tuple(self._verdicts(exploration.complete)),
            configurations=len(exploration.links),
            transitions=exploration.transitions,
            seconds=perf_counter() - self.started,
            complete=exploration.complete,
            facts=self.model.relevant.bit_count() + len(self.bits.ghosts),
            traces=self.traces,
            notes=tuple(notes(self.flow, self.source)),
        )

    def first(self) -> str | None:
        exploration = self.explored(first=True)
        if exploration.violations:
            return next(iter(exploration.violations)).property
        report = self.concluded(exploration)
        return next((f.code for f in report.findings if f.severity == "error"), None)

    def _agenda(self, complete: bool) -> None:
        """The agenda table by itself and, if there are no other errors, together with the turn."""
        if not has_agenda(self.flow):
            return
        reports = [explore_table(self.flow.agenda)]
        if complete and not any(f.severity == "error" for f in self.findings):
            reports.append(explore_joint(self.flow))
        for report in reports:
            if report.broken and report.broken not in self.flow.properties.waived:
                self.findings.append(agenda_finding(report, self.source))
                self.failed.add((True, report.broken))
            elif report.rest is not None:
                self.worst[True, REST] = f"at most {total(self.flow, report.rest.timers)}"
        self.joined = len(reports) > 1

    def _add(self, finding: Finding, name: tuple[bool, str], proof: Trace) -> None:
        self.findings.append(finding)
        self.traces[finding] = proof
        self.failed.add(name)

    def _broken(self, exploration: Exploration, violation: Violation) -> None:
        way = exploration.path(violation.node)
        if violation.edge is not None:
            way.append((violation.node, violation.edge))
        message = f"{violation.rule.property}: {violation.rule.broken}"
        path = self._path(way[-1][1][3].taken, way[-1][1][3].source) if way else ("initial",)
        missing = event_advice(self.flow, self.source, way)
        remedy = missing or violation.rule.remedy
        finding = placed(self.source, path, way, message, violation.rule.property, remedy)
        self.missing[finding] = missing
        self._add(
            finding, (violation.rule.builtin, violation.rule.property), trace(self.model, way)
        )

    def _path(self, taken: object, state: str) -> Place:
        row_id = getattr(taken, "row", None)
        row = next((row for row in self.flow.rows(state) if row.id == row_id), None)
        return row.path if row else ("states", state)

    def _liveness(self, exploration: Exploration) -> None:
        ends: dict[str, list[tuple[Wait, Outcome]]] = {}
        for wait in waits(self.model):
            outcome = judge(self.model, exploration, wait)
            if outcome.node is None:
                key = (wait.builtin, wait.property)
                worst = self.worst.get(key, "")
                if outcome.detail not in worst:
                    self.worst[key] = "; ".join(filter(None, (worst, outcome.detail)))
            elif outcome.end is not None:
                ends.setdefault(outcome.end, []).append((wait, outcome))
            else:
                self._unreached(exploration, self._restarting(outcome), [(wait, outcome)])
        for state, broken in ends.items():  # one cause, even if it breaks several properties
            self._unreached(exploration, ("states", state), broken)

    def _silence(self, exploration: Exploration) -> None:
        """How long a user who waits hears nothing, if the flow limits it."""
        most = self.flow.properties.no_silence_longer_than
        if most is None:
            return
        key = (False, NO_SILENCE)
        outcome = judge(self.model, exploration, unheard(self.model, most))
        if outcome.node is None:
            self.worst[key] = outcome.detail
            return
        rows = [*map(self.source.place, rows_of(self.flow, outcome))]
        message = f"{NO_SILENCE}: {outcome.detail}" + (f" ({', '.join(rows)})" if rows else "")
        remedy = unheard_advice(self.flow, outcome)
        finding = self.source.at_key(("properties", NO_SILENCE), message, remedy, code=NO_SILENCE)
        way = (*exploration.path(outcome.node), *outcome.moves)
        self._add(finding, key, trace(self.model, way, outcome.quiet))

    def _bounds(self, exploration: Exploration) -> None:
        delays = self.delays(exploration) if self.flow.bounds else ()
        for name, detail, remedy in unmet(self.flow, delays):
            key = (False, name)
            self.worst[key] = detail
            if remedy:
                most = "less" if name in AT_LEAST else "more"
                message = f"{name}: it is {detail}, {most} than {self.flow.bounds[name]:g} s"
                finding = self.source.at_key(("bounds", name), message, remedy, code=name)
                self.findings.append(finding)
                self.failed.add(key)

    def _restarting(self, outcome: Outcome) -> Place:
        """The repeated moves that restart a wait's timers, or the state in which the wait
        begins."""
        for _, edge in outcome.again:
            if edge[3].restarts or (edge[3].entered and edge[3].source == edge[3].dest):
                return self._path(edge[3].taken, edge[3].source)
        return ("states", self.model.state(outcome.node or 0))

    def _unreached(
        self, exploration: Exploration, path: Place, broken: Sequence[tuple[Wait, Outcome]]
    ) -> None:
        names = list(dict.fromkeys(wait.property for wait, _ in broken))
        outcome = broken[0][1]
        message = f"{', '.join(names)}: {outcome.detail}"
        way = (*exploration.path(outcome.node or 0), *outcome.moves)
        missing = timer_advice(self.flow, self.source, outcome.end or "")
        remedy = missing or loop_advice(edge[3] for _, edge in outcome.again)
        finding = placed(self.source, path, way, message, names[0], remedy)
        self.missing[finding] = missing
        proof = trace(self.model, way, outcome.quiet)
        for wait, _ in broken:
            self._add(finding, (wait.builtin, wait.property), proof)

    def _deadlocks(self, exploration: Exploration) -> None:
        for state, node in deadlocks(self.model, exploration):
            finding = problem(self.source, ("states", state), "deadlock.state", name=state)
            self._add(finding, (True, "deadlock"), trace(self.model, exploration.path(node)))

    def _gave_up(self, exploration: Exploration) -> None:
        named = {"count": len(exploration.links), "limit": self.limit}
        self.findings.append(problem(self.source, ("flow",), "not-proved.gave_up", **named))

    def _verdicts(self, complete: bool) -> Iterator[PropertyResult]:
        flow, properties = self.flow, self.flow.properties
        for name in declared(flow):
            based = any(self.source.inherited(("properties", kind, name)) for kind in _KINDS)
            result = self._result((False, name), complete)
            yield PropertyResult(name, "declared", *result, inherited=based)
        for name, reason in properties.waived.items():
            if ("properties", "waived", name) in self.source.removed:
                yield PropertyResult(name, "declared", "waived", reason)
        extends = flow.extends is not None
        for name in PROPERTIES if flow.kind == "turn" else ():
            if name in properties.waived:
                yield PropertyResult(name, "turn", "waived", properties.waived[name])
            elif lacking := missing(flow, name):
                yield PropertyResult(name, "turn", "open", f"there is no {', no '.join(lacking)}")
            else:
                yield PropertyResult(name, "turn", *self._result((True, name), complete), extends)

        for name in AGENDA if has_agenda(flow) else ():
            if name in properties.waived:
                yield PropertyResult(name, "agenda", "waived", properties.waived[name])
            elif name == REST and not self.joined:
                yield PropertyResult(name, "agenda", "open", self._not_joined())
            else:
                yield PropertyResult(name, "agenda", *self._result((True, name), True), extends)

    def _not_joined(self) -> str:
        """Why turn and agenda were not explored together."""
        errors = sorted(finding for finding in self.findings if finding.severity == "error")
        if not errors:
            return "not every configuration was visited"
        first = errors[0]
        return f"checked once {first.file}:{first.line}:{first.column} is mended: {first.code}"

    def _result(self, name: tuple[bool, str], complete: bool) -> tuple[Result, str]:
        if name in self.failed:
            return "fails", ""
        if not complete:
            return "open", "not every configuration was visited"
        return "holds", self.worst.get(name, "")
