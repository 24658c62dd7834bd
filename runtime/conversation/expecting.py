"""What the user is asked for, and how much of it they have said."""

from __future__ import annotations

from collections.abc import Callable

from turnfsm.fsm.expect import Expectation, Extent, extent_of

__all__ = ["Expecting"]


class Expecting:
    """What the user is asked for, by a question or while a state is held, and what they have said.

    Args:
        of_state: What the held state expects; None if it does not say.
        now: Gives the time in seconds.
    """

    def __init__(
        self, of_state: Callable[[], Expectation | None], now: Callable[[], float]
    ) -> None:
        self._of_state = of_state
        self._now = now
        self._question: Expectation | None = None
        self._replied = False  # a turn was committed since the question, and may be its answer
        self._before = ""  # the words of turns that nobody has answered yet
        self._words = ""
        self._waited = 0.0  # seconds of silence since the last words
        self._silent_since: float | None = 0.0

    @property
    def expected(self) -> Expectation | None:
        """What the user is asked for now; None if that is not known."""
        return self._question or self._of_state()

    @property
    def extent(self) -> Extent:
        """How much of it they have said since they were answered, in final transcripts."""
        expected = self.expected
        if expected is None:
            return "unknown"
        return extent_of(f"{self._before} {self._words}", expected)

    @property
    def wait(self) -> float:
        """Seconds of silence for which the rest is still waited for. They count from the last
        words: a sound without words interrupts the count, and does not begin it anew."""
        expected = self.expected
        return 0.0 if expected is None else expected.wait - self._waited - self._silence

    def heard(self, words: str, *, whole: bool) -> None:
        """These are the words since the last turn.

        Args:
            words: The words.
            whole: The transcript of the last ones is final.
        """
        self._waited = 0.0
        if self._silent_since is not None:
            self._silent_since = self._now()
        if whole:
            self._words = words

    def voice_started(self) -> None:
        """A voice is heard."""
        self._waited, self._silent_since = self._waited + self._silence, None

    def voice_ended(self) -> None:
        """It is silent."""
        if self._silent_since is None:
            self._silent_since = self._now()

    @property
    def _silence(self) -> float:
        return 0.0 if self._silent_since is None else self._now() - self._silent_since

    def ask(self, question: Expectation) -> None:
        """A question asks for this. It counts until its answer is answered."""
        self._question, self._replied = question, False

    def cleared(self) -> None:
        """The words since the last turn do not count."""
        self._words = ""

    def turn_complete(self) -> None:
        """A turn with the words so far is committed or deferred."""
        self._before, self._words = f"{self._before} {self._words}", ""
        self._replied = True

    def answered(self) -> None:
        """The latest turn has got its reply, or gets none."""
        self._before = ""
        if self._replied:
            self._question = None
