"""Requires that a flow is proved before a session uses it: shipped flows by CI, others on this
machine."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import attrs

import turnfsm.fsm
from turnfsm.fsm import Flow, FlowError, TurnfsmError
from turnfsm.fsm.errors import near
from turnfsm.fsm.memo import once_for_each_flow
from turnfsm.fsm.tuning import Tuning

if TYPE_CHECKING:
    from turnfsm.fsm.check.report import Report

__all__ = ["Proof", "digest", "note_proved", "record_of", "require_proof", "shipped_proofs"]


VARIABLE = "TURNFSM_PROOFS"
"""The environment variable that names the folder; empty: nothing is remembered."""


def _file(digest: str) -> Path | None:
    """The file that says that a flow with this digest was proved here, by this very checker."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        try:
            cached = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # the user's home is unknown
            return None
        folder = str(Path(cached, "turnfsm", "proofs"))
    if not folder:
        return None
    return Path(folder, hashlib.sha256(f"{_checker()} {digest}".encode()).hexdigest())


@cache
def _checker() -> str:
    """A hash of the checker's code and tables: another version may find more."""
    folder = Path(turnfsm.fsm.__file__).parent
    paths = (path for path in folder.rglob("*") if path.suffix in (".py", ".toml", ".yaml"))
    files = sorted(path.relative_to(folder).as_posix() for path in paths)
    known = hashlib.sha256()
    for name in files:
        known.update(f"{name}\n".encode())
        known.update((folder / name).read_bytes())
    return known.hexdigest()


Proof = Literal["require", "warn", "off"]
"""What a session does with a flow that is not proved: refuse it, warn, or not check."""

logger = logging.getLogger("turnfsm")

_SHIPPED = Path(__file__).parents[1] / "specs" / "proofs.json"

_proved: set[str] = set()
"""Digests of the flows that this process has proved."""


_NOT_PROVED = frozenset(
    {
        *(
            "name",
            "is_",
            "extends",
            "source",
            "migrates",
            "paced",
            "overlays",
            "phrases",
            "questions",
            "tools",
        ),
        *("turn_detection", "limits", "limit_sets", "discard_audio_if_uninterruptible"),
    }
)
"""The fields of a flow that no proof depends on."""


@once_for_each_flow
def digest(flow: Flow) -> str:
    """A hash of what a flow's proof depends on. Two flows that differ only in their names, files,
    tools, phrases or the tuning of their states have the same proof."""
    states = {name: attrs.evolve(state, tuning=Tuning()) for name, state in flow.states.items()}
    names = sorted({field.name for field in attrs.fields(Flow)} - {*_NOT_PROVED, "states"})
    read = [(name, getattr(flow, name)) for name in names]
    return hashlib.sha256(repr((states, read)).encode()).hexdigest()


@cache
def shipped_proofs() -> Mapping[str, Mapping[str, Any]]:
    """The proofs of the shipped flows by name: digest, configurations, transitions."""
    return json.loads(_SHIPPED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def record_of(flows: Iterable[tuple[Flow, Report]]) -> str:
    """The proofs of flows, in the form of `specs/proofs.json`."""
    proofs = {
        flow.name: {
            "digest": digest(flow),
            "configurations": report.configurations,
            "transitions": report.transitions,
        }
        for flow, report in flows
    }
    return json.dumps(proofs, indent=2) + "\n"


def note_proved(flow: Flow) -> None:
    """Record that a flow was proved: no session on this machine checks it again."""
    if _is_known(flow):
        return
    _proved.add(digest(flow))
    if (file := _file(digest(flow))) is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError as exc:
        logger.warning(
            "the proof cannot be stored in %s (%s), so each process proves the flow again; name "
            "another folder in %s",
            file.parent, (exc.strerror or str(exc)).lower(), VARIABLE,
        )  # fmt: skip


def _is_known(flow: Flow) -> bool:
    known = digest(flow)
    shipped = any(known == entry["digest"] for entry in shipped_proofs().values())
    if shipped or known in _proved:
        return True
    file = _file(known)
    try:
        return file is not None and file.is_file()
    except OSError:  # the folder belongs to another user
        return False


def require_proof(flow: Flow, proof: Proof = "require") -> tuple[str, ...]:
    """Check a flow, unless it comes with turnfsm or was proved on this machine before.

    A check takes some seconds. `turnfsm check` does it in advance. What a proof does not depend
    on, such as tool policies and phrases, can change without another check.

    Args:
        flow: The flow.
        proof: ``require`` raises if the flow is not proved. ``warn`` logs why. ``off`` does not
            check, and logs that.

    Returns:
        Why the flow is not known to be proved, for the journal; empty if it is proved.

    Raises:
        FlowError: The flow is not proved; it carries the findings.
        TurnfsmError: ``proof`` has another value.
    """
    if proof not in get_args(Proof):
        raise TurnfsmError(f"proof={proof!r} is not known; {near(proof, get_args(Proof))}")
    if _is_known(flow):
        return ()
    if proof == "off":
        logger.warning("flow %r governs and was not checked: proof='off'", flow.name)
        return ("it was not checked: proof='off'",)
    from turnfsm.fsm.check.check import check_flow

    logger.warning(
        "flow %r is proved now, once for this version of it; the process waits meanwhile, for some "
        "seconds. `turnfsm check` does it in advance, such as when an image is built",
        flow.name,
    )
    report = check_flow(flow)
    if report.ok:
        note_proved(flow)
        return ()
    errors = tuple(finding for finding in report.findings if finding.severity == "error")
    shown = "\n".join(finding.render() for finding in errors)
    many = f"{len(errors)} error{'s' * (len(errors) != 1)}"
    if proof == "warn":
        logger.warning("flow %r governs and is not proved, %s:\n%s", flow.name, many, shown)
        return tuple(f"{f.place}: {f.message}" for f in errors)
    raise FlowError(
        f"{shown}\nflow {flow.name!r} is not proved: {many}; `turnfsm check` shows a "
        "counterexample for each, proof='warn' uses the flow nevertheless",
        errors,
    )
