"""Proves a flow, and compares its delays with those of its base."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import attrs

from turnfsm.fsm.errors import FlowError
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.load.loader import load_flow, load_shipped, shipped_flows
from turnfsm.fsm.source import Source

from .delays import Delay, worse
from .proof import Proof
from .report import Report

__all__ = ["LIMIT", "check_file", "check_flow", "first_error"]

LIMIT = 500_000


def check_flow(flow: Flow, limit: int = LIMIT) -> Report:
    """Prove a flow, or find counterexamples.

    Args:
        flow: The flow, as `load_flow` returns it.
        limit: Stop after this many configurations. The report then proves nothing.

    Returns:
        A report. `ok` is true if everything is proved; `findings` has the problems, with their
        places.

    Example:
        >>> from turnfsm import load_flow
        >>> report = check_flow(load_flow("turn"))
        >>> report.ok, report.findings
        (True, ())
    """
    with _no_garbage():
        return Proof(flow, limit).report()


def check_file(name: str | Path, limit: int = LIMIT) -> Report:
    """Prove a shipped flow or the flow in a file.

    Args:
        name: The name of a shipped flow, or a path.
        limit: Stop after this many configurations. The report then proves nothing.

    Returns:
        A report. If the file cannot be loaded, its findings say why.

    Example:
        >>> from turnfsm.check import check_file
        >>> check_file("tool_call").ok, check_file("missing.yaml").ok
        (True, False)
    """
    try:
        with _no_garbage():
            return _compared(Proof(load_flow(name), limit))
    except FlowError as exc:
        return Report(str(name), "", exc.findings, (), 0, 0, 0.0, complete=False, loaded=False)


def first_error(flow: Flow) -> str | None:
    """The code of one error of a flow, as quickly as possible; None if it is proved."""
    with _no_garbage():
        return Proof(flow, LIMIT).first()


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Disable the garbage collector: it takes a fifth of the time, and a proof makes hardly any
    cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _times_of_base(base: Flow, limit: int) -> tuple[Delay, ...]:
    """The delays of the base that a caller notices. Cached for shipped flows, which many flows
    extend."""
    shipped = base.name in shipped_flows() and base is load_shipped(base.name)
    return _times_of_shipped(base.name, limit) if shipped else Proof(base, limit).times()


@cache
def _times_of_shipped(name: str, limit: int) -> tuple[Delay, ...]:
    return Proof(load_shipped(name), limit).times()


def _compared(proof: Proof) -> Report:
    """The report, with the delays that a caller notices, and those that are worse than in the
    base."""
    exploration = proof.explored()
    report = proof.concluded(exploration)
    if not exploration.complete:
        return report
    times, base = proof.delays(exploration), _base(proof.flow, proof.source)
    if base is None:
        return attrs.evolve(report, delays=times)
    before = {delay.name: delay.seconds for delay in _times_of_base(base, proof.limit)}
    times = tuple(attrs.evolve(delay, base=before.get(delay.name)) for delay in times)
    warnings = worse(proof.flow, proof.source, base, times)
    findings = tuple(sorted({*report.findings, *warnings}))
    return attrs.evolve(report, delays=times, base=base.name, findings=findings)


def _base(flow: Flow, source: Source) -> Flow | None:
    if flow.extends is None:
        return None
    beside = Path(source.file).parent / flow.extends
    with contextlib.suppress(FlowError):
        return load_flow(beside if beside.suffix and beside.exists() else flow.extends)
    return None
