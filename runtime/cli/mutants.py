"""`turnfsm mutants`: tests the proof of a flow on copies with one change each."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, get_args

import typer

from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.score import Result, Score, score
from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.load.loader import load_flow, shipped_flows
from turnfsm.runtime.cli._options import FlowName

__all__ = ["mutants"]


def mutants(
    flow: FlowName,
    explained: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file with the reasons why some mutants are no mistake. Default: "
            "FLOW.mutants.toml.",
        ),
    ] = None,
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Try only one mutant in N.")] = 1,
) -> None:
    """Test the proof of a flow.

    A mutant is a copy of the flow with one change. The proof should fail for each mutant.
    Exit status 0: every mutant is caught or explained, 1: some survive, 2: bad input.
    """
    subject = load_flow(flow)
    if not check_flow(subject).ok:
        raise TurnfsmError(f"{flow}: the flow itself is not proved; see 'turnfsm check {flow}'")
    result = score(subject, _read(explained, flow), every)
    print("\n".join(_text(result)))
    raise typer.Exit(not result.ok)


def _read(explained: Path | None, flow: str) -> dict[str, str]:
    file = explained or shipped_flows().get(flow, Path(flow)).with_suffix(".mutants.toml")
    if explained is None and not file.exists():
        return {}
    try:
        reasons = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise TurnfsmError(f'{file}: not TOML: {exc}; write \'"MUTANT" = "REASON"\'') from None
    for name, reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise TurnfsmError(f'{file}: {name!r} has no reason; write \'"MUTANT" = "REASON"\'')
    return reasons


def _text(result: Score) -> Iterator[str]:
    kinds: dict[str, Counter[Result]] = {}
    for fate in result.fates:
        kinds.setdefault(fate.mutant.operator, Counter())[fate.result] += 1
    columns = get_args(Result)
    yield f"{'':<22}" + "".join(f"{column:>12}" for column in columns)
    for kind, counts in kinds.items():
        yield f"{kind:<22}" + "".join(f"{counts[column]:>12}" for column in columns)
    totals = Counter(fate.result for fate in result.fates)
    yield f"{'all':<22}" + "".join(f"{totals[column]:>12}" for column in columns)
    for kind in ("equivalent", "explained"):
        for reason, count in Counter(f.by for f in result.fates if f.result == kind).items():
            yield f"  {kind}, {count}: {reason}"
    for fate in result.fates:
        if fate.result == "survives":
            yield f"  survives: {fate.mutant.id}"
    yield from (f"  explained without need: {name}" for name in result.stale)
    faults = len(result.fates) - totals["equivalent"]
    yield (
        f"score: {totals['caught']} of {faults} mutants that are not equivalent are caught "
        f"({result.of_faults:.1%}), {len(result.fates)} in all"
    )
