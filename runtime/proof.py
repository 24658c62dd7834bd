"""Flows are proved before they govern: a shipped one by CI, another one when it is used."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from turnfsm.fsm import Flow, FlowError, TurnfsmError
from turnfsm.fsm.errors import near

if TYPE_CHECKING:
    from turnfsm.fsm.check import Report

__all__ = ["Proof", "digest", "record_of", "require_proof", "shipped_proofs"]

Proof = Literal["require", "warn", "off"]
"""What a session does with a flow that is not proved: refuse it, warn, or not look."""

logger = logging.getLogger("turnfsm")

_SHIPPED = Path(__file__).parents[1] / "specs" / "proofs.json"

_proved: set[str] = set()
"""Digests of the flows that this process has proved."""


def digest(flow: Flow) -> str:
    """A hash of what a flow says; equal flows have equal digests, wherever they were read from."""
    return hashlib.sha256(repr(flow).encode()).hexdigest()


@cache
def shipped_proofs() -> Mapping[str, Mapping[str, Any]]:
    """What CI has proved of the shipped flows, by name: digest, configurations, transitions."""
    return json.loads(_SHIPPED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def record_of(flows: Iterable[tuple[Flow, Report]]) -> str:
    """The proofs of flows as `specs/proofs.json` holds them."""
    proofs = {
        flow.name: {
            "digest": digest(flow),
            "configurations": report.configurations,
            "transitions": report.transitions,
        }
        for flow, report in flows
    }
    return json.dumps(proofs, indent=2) + "\n"


def require_proof(flow: Flow, proof: Proof = "require") -> tuple[str, ...]:
    """Check a flow that this process does not know to be proved; 0.1 to 0.5 s, once.

    Args:
        proof: ``require`` raises if the flow is not proved, ``warn`` logs why, ``off`` does not
            check and logs that.

    Returns:
        Why the flow is not known to be proved, for the journal; nothing if it is.

    Raises:
        FlowError: The flow is not proved; it carries the findings.
        TurnfsmError: There is no such ``proof``.
    """
    if proof not in get_args(Proof):
        raise TurnfsmError(f"proof={proof!r} is not known; {near(proof, get_args(Proof))}")
    known = digest(flow)
    if known in _proved or any(known == entry["digest"] for entry in shipped_proofs().values()):
        return ()
    if proof == "off":
        logger.warning("flow %r governs and was not checked: proof='off'", flow.name)
        return ("it was not checked: proof='off'",)
    from turnfsm.fsm.check import check_flow  # only a flow of one's own pays for the import

    report = check_flow(flow)
    if report.ok:
        _proved.add(known)
        return ()
    errors = tuple(finding for finding in report.findings if finding.severity == "error")
    shown = "\n".join(finding.render() for finding in errors)
    many = f"{len(errors)} error{'s' * (len(errors) != 1)}"
    if proof == "warn":
        logger.warning("flow %r governs and is not proved, %s:\n%s", flow.name, many, shown)
        return tuple(f"{f.file}:{f.line}:{f.column}: {f.message}" for f in errors)
    raise FlowError(
        f"{shown}\nflow {flow.name!r} is not proved: {many}; `turnfsm check` shows how each comes "
        "about, proof='warn' lets it govern all the same",
        errors,
    )
