"""The log of a conversation: what has happened to replies, calls and what the user waits for.

There is no other memory of who delivers what: the agenda is a fold of the log. The journal has an
entry's note whenever the agenda changes, so another worker can fold it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnfsm.fsm.agenda import Agenda, Entry, ReplyEnded, Rules, entry_from_note, note_of
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Journal, JournalError
from turnfsm.fsm.load import load_shipped

__all__ = ["Log", "agenda_of", "rules_of"]


class Log:
    """The entries of a session, folded as they come.

    Args:
        moved: Called when the agenda has changed.

    Attributes:
        agenda: What the agent owes the user now.
        note: Writes a note into the journal.
    """

    def __init__(self, moved: Callable[[], None]) -> None:
        self.agenda = Agenda()
        self.rules = Rules()
        self.note: Callable[..., Any] = _write_nothing
        self._moved = moved

    def govern(self, flow: Flow, note: Callable[..., Any]) -> None:
        """Follow the agenda of this flow from now on."""
        self.rules, self.note = rules_of(flow), note

    def add(self, entry: Entry) -> None:
        """Something has happened."""
        agenda = self.agenda.after(entry, self.rules)
        if agenda != self.agenda:
            self.agenda = agenda
            kind, data = note_of(entry)
            self.note(kind, **data)
            self._moved()


def rules_of(flow: Flow) -> Rules:
    """The agenda of a flow; that of `turn` if it declares none."""
    return flow.agenda if flow.agenda.settle else load_shipped("turn").agenda


def agenda_of(journal: Journal, rules: Rules) -> Agenda:
    """The agenda of a worker that has died, from its journal. No reply of it is live any more.

    Raises:
        JournalError: A note is not as turnfsm writes it.
    """
    agenda = Agenda()
    for note in journal.notes:
        try:
            entry = entry_from_note(note.kind, note.data)
        except TypeError as exc:
            why = f"note {note.seq} ({note.kind}) is not as turnfsm writes it: {exc}"
            raise JournalError(f"{why}; name a journal that was not changed") from None
        if entry is not None:
            agenda = agenda.after(entry, rules)
    for reply in agenda.replies:
        agenda = agenda.after(ReplyEnded(reply.id, "crash"), rules)
    return agenda


def _write_nothing(kind: str, **data: Any) -> None:
    """Where no session runs there is no journal."""
