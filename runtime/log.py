"""The log of a conversation: entries about the user's turns, replies, calls and obligations.

The agenda, the outcomes of turns and whether a yes answers a question are computed from the log
alone. An entry that changes one of the first two is also written to the journal, so that another
worker can rebuild the agenda. A question is asked again by that worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.asked import Asked
from turnfsm.fsm.agenda.entries import Entry, ReplyEnded, entry_from_note, note_of
from turnfsm.fsm.agenda.settlement import Rules
from turnfsm.fsm.agenda.turns import TurnEnd, Turns
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Journal, JournalError
from turnfsm.fsm.load import load_shipped

__all__ = ["Log", "agenda_of", "rules_of"]


class Log:
    """The entries of a session, applied to the agenda, the turns and the question to the user as
    they arrive.

    Args:
        moved: Called when the agenda has changed.
        turn_ended: Called with each turn that ends.
    """

    def __init__(self, moved: Callable[[], None], turn_ended: Callable[[TurnEnd], None]) -> None:
        self.agenda = Agenda()
        self.turns = Turns()
        self.asked = Asked()
        self.rules = Rules()
        self.note: Callable[..., Any] = lambda kind, **data: None  # there is no journal yet
        self._moved, self._turn_ended = moved, turn_ended

    def govern(self, flow: Flow, note: Callable[..., Any]) -> None:
        """Use the agenda rules of this flow from now on."""
        self.rules, self.note = rules_of(flow), note

    def add(self, entry: Entry) -> None:
        """Apply an entry."""
        self.asked = self.asked.after(entry)
        agenda = self.agenda.after(entry, self.rules)
        turns, ended = self.turns.after(entry, agenda)
        moved = agenda != self.agenda
        if moved or turns != self.turns:
            self.agenda, self.turns = agenda, turns
            kind, data = note_of(entry)
            self.note(kind, **data)
        if moved:
            self._moved()
        for end in ended:
            self._turn_ended(end)


def rules_of(flow: Flow) -> Rules:
    """The agenda rules of a flow; those of `turn` if it declares none."""
    return flow.agenda if flow.agenda.settle else load_shipped("turn").agenda


def agenda_of(journal: Journal, rules: Rules) -> Agenda:
    """The agenda of a worker that has died, from its journal. It has no live replies.

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
