"""The page of one journal."""

from __future__ import annotations

import math
from typing import Any

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Journal, replay
from turnfsm.fsm.metrics.why import how_it_ended

from .flow_data import flow_data
from .page import build_page
from .records import RecordEncoder
from .sound import Sound

__all__ = ["journal_data", "journal_page"]


def journal_page(
    journal: Journal, flow: Flow, sound: Sound | None = None, offset: float = 0.0, title: str = ""
) -> str:
    """One HTML file with a whole conversation. It needs no server and no network.

    Args:
        sound: Its recording, played in step with the picture.
        offset: The second of the journal at which the recording begins.
        title: The title of the page; by default the flow's name.

    Raises:
        UnknownName: The journal is of another flow.
        TurnfsmError: The recording is not as long as the journal.
    """
    data = journal_data(journal, flow, title)
    if sound is None:
        return build_page(data)
    _check_length(sound, offset, _sounded_until(journal))
    data["sound"] = {
        "offset": offset,
        "seconds": sound.seconds,
        "channels": sound.channels,
        "peaks": sound.peaks,
    }
    return build_page(data, sound.data, sound.type)


def journal_data(journal: Journal, flow: Flow, title: str = "") -> dict[str, Any]:
    """What the page shows of a journal."""
    header = journal.header
    divergence = replay(journal, flow)
    encoder = RecordEncoder(flow)
    rows, silences = encoder.all(journal.records), encoder.end()
    worst = encoder.tally.worst  # if nothing was wrong, the first decision is shown first
    first = next((entry.t for entry in journal.entries), 0.0)
    return {
        "mode": "journal",
        "title": title or f"{header.flow}: a conversation",
        "flow": flow_data(flow, header.timers),
        "initial": header.snapshot.state if header.snapshot else header.initial,
        "startedAt": header.started_at if math.isfinite(header.started_at) else 0.0,
        "redacted": header.redacted is not None,
        "how": how_it_ended(journal),
        "damage": journal.damage,
        "replays": None if divergence is None else str(divergence),
        "records": rows,
        "silences": silences,
        "end": max(_sounded_until(journal), *(record.t for record in journal.records)),
        "at": first if worst is None else worst,
    }


def _sounded_until(journal: Journal) -> float:
    """The last moment with a sound or a move; a session may close long after it."""
    moments = [0.1, *(entry.t for entry in journal.entries)]
    for note in journal.notes:
        end = note.data.get("end")
        if isinstance(end, int | float) and 0 <= end < 1e7:
            moments.append(float(end))
    return max(moments)


def _check_length(sound: Sound, offset: float, end: float) -> None:
    short = end - (offset + sound.seconds)
    slack = max(5.0, end / 10)
    if abs(short) > slack:
        raise TurnfsmError(
            f"{sound.name}: {sound.seconds:.1f} s of sound from second {offset:g} on, and the "
            f"journal has {end:.1f} s; name the recording of this conversation, or say with "
            "--offset at which second of the journal it begins"
        )
