"""What the user is expected to say, such as ten digits, and how much of it they have said."""

from __future__ import annotations

from collections.abc import Callable

from turnfsm.fsm.expect import Expectation, Extent, extent_of

__all__ = ["Expecting"]


class Expecting:
    """The value that the user is expected to say, as set by the application or by the flow, and how
    much of it they have said.

    Args:
        of_flow: Returns what the flow expects now, or None.
        now: Returns the time in seconds.
        asked: Called with the question of the application, and with None when it is over.
    """

    def __init__(
        self,
        of_flow: Callable[[], Expectation | None],
        now: Callable[[], float],
        asked: Callable[[Expectation | None], None],
    ) -> None:
        self._of_flow = of_flow
        self._now = now
        self._asked = asked
        self._question: Expectation | None = None
        self._replied = False  # a turn was committed after the question, and may answer it
        self._before = ""  # the text of turns that have no answer yet
        self._text = ""
        self._waited = 0.0  # seconds of silence since the last transcript
        self._silent_since: float | None = 0.0

    @property
    def expected(self) -> Expectation | None:
        """What is expected now; None if unknown."""
        return self._question or self._of_flow()

    @property
    def extent(self) -> Extent:
        """How much of it is in the final transcripts since the last answer."""
        expected = self.expected
        if expected is None:
            return "unknown"
        return extent_of(f"{self._before} {self._text}", expected)

    @property
    def wait(self) -> float:
        """Seconds of silence to wait for the rest, counted from the last transcript. A sound
        without a transcript only pauses the count."""
        expected = self.expected
        return 0.0 if expected is None else expected.wait - self._waited - self._silence

    def heard(self, text: str, *, final: bool) -> None:
        """A transcript has arrived.

        Args:
            text: The transcript since the last turn.
            final: Its last part is final.
        """
        self._waited = 0.0
        if self._silent_since is not None:
            self._silent_since = self._now()
        if final:
            self._text = text

    def voice_started(self) -> None:
        self._waited, self._silent_since = self._waited + self._silence, None

    def voice_ended(self) -> None:
        if self._silent_since is None:
            self._silent_since = self._now()

    @property
    def _silence(self) -> float:
        return 0.0 if self._silent_since is None else self._now() - self._silent_since

    def ask(self, question: Expectation) -> None:
        """Expect the answer to a question, until that answer has its reply."""
        self._question, self._replied = question, False
        self._asked(question)

    def withdrawn(self) -> None:
        """The question is not open any more."""
        if self._question is not None:
            self._question = None
            self._asked(None)

    def cleared(self) -> None:
        """Ignore the transcript since the last turn."""
        self._text = ""

    def turn_complete(self) -> None:
        """A turn with the transcript so far was committed or deferred."""
        self._before, self._text = f"{self._before} {self._text}", ""
        self._replied = True

    def answered(self) -> None:
        """The latest turn has its reply, or will get none."""
        self._before = ""
        if self._replied:
            self.withdrawn()
