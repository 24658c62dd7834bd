"""Tools that run only after the user's yes: the question, its condition, and the phrases of a
yes."""

from __future__ import annotations

import string
from collections.abc import Mapping

import attrs

from .fields import Names, Texts, described, doc
from .phrases import Phrases

__all__ = ["Condition", "Confirm", "arguments_in"]

_YES = ("yes",)
_BESIDES = ("acknowledgement", "hesitation")
"""The phrase lists that may accompany a yes: "Uh, yes, thank you"."""


@attrs.frozen
class Condition:
    """A condition on an argument, under which the user is asked.

    A missing argument, or one that cannot be compared, meets it.

    Example:
        >>> Condition(above=100).holds(250), Condition(above=100).holds(20)
        (True, False)
        >>> Condition(is_=("USD",)).holds("usd"), Condition(above=100).holds(None)
        (True, True)
    """

    above: float | None = doc("It is a number above this one.", amount=True, default=None)
    below: float | None = doc("It is a number below this one.", amount=True, default=None)
    is_: Names = doc("It is one of these, compared as text without case.", yaml="is", default=())

    def holds(self, value: object) -> bool:
        """Whether a call with this argument needs a yes.

        Args:
            value: The argument; None if the call has none.
        """
        if value is None:
            return True
        if self.is_ and _as_text(value).casefold() not in [one.casefold() for one in self.is_]:
            return False
        number = _number(value)
        if number is None:
            return True
        above = self.above is None or number > self.above
        return above and (self.below is None or number < self.below)


@described
@attrs.frozen
class Confirm:
    """The user must say yes before the tool runs.

    Example:
        >>> confirm = Confirm(("Shall I transfer {amount}?",), {"amount": Condition(above=100)})
        >>> confirm.applies({"amount": 500}), confirm.applies({"amount": 50})
        (True, False)
        >>> confirm.question({"amount": 500.0})
        ('Shall I transfer 500?',)
        >>> confirm.agrees("Yes, please."), confirm.agrees("Yes, but only fifty.")
        (True, False)
    """

    say: Texts = doc(
        "The question; of several texts, the next one each time. {NAME} is the argument NAME of "
        "the call."
    )
    when: Mapping[str, Condition] = doc(
        "By argument: only calls that meet all of these conditions need a yes. Without this key "
        "every call needs one.",
        factory=dict,
    )
    yes: Names = doc(
        "Phrases that are a yes, instead of those of the list 'yes'. Only phrases of that list "
        "and of the lists 'acknowledgement' and 'hesitation' may come before or after them.",
        default=(),
    )
    otherwise: Texts = doc(
        "What the agent says if the user has not answered in time (the timer confirm_wait). "
        "Without this key the model replies instead.",
        default=Texts(()),
    )
    later: bool = doc(
        "A later agent of the session has the tool. Without this key the session does not start if "
        "no tool has this name and the name of one is similar: it is taken for a misspelling.",
        default=False,
    )

    def applies(self, arguments: Mapping[str, object]) -> bool:
        """Whether a call with these arguments needs a yes."""
        return all(one.holds(arguments.get(name)) for name, one in self.when.items())

    def lacks(self, arguments: Mapping[str, object]) -> Names:
        """The arguments that are in the question but not in the call."""
        return tuple(name for name in self.arguments if arguments.get(name) is None)

    def question(self, arguments: Mapping[str, object]) -> Names:
        """The texts of the question for a call with these arguments."""
        said = {name: _as_text(value) for name, value in arguments.items()}
        return tuple(text.format_map(said) for text in self.say)

    @property
    def arguments(self) -> Names:
        """The arguments that the question names."""
        return tuple(dict.fromkeys(name for text in self.say for name in arguments_in(text)))

    def agrees(self, words: str) -> bool:
        """Whether an answer is a yes, and nothing else."""
        said = Phrases(also=self.yes, anywhere=True) if self.yes else _SAID
        only = Phrases(lists=(*_YES, *_BESIDES), also=self.yes)
        return said.match(words) and only.match(words)


_SAID = Phrases(lists=_YES, anywhere=True)


def arguments_in(text: str) -> Names:
    """The arguments that a text names in braces.

    Raises:
        ValueError: The braces are wrong; the message says what to write.

    Example:
        >>> arguments_in("Shall I transfer {amount} to {name}?")
        ('amount', 'name')
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        raise ValueError("write {NAME} for an argument, and {{ or }} for a brace") from None
    names = [name for _, name, _, _ in parts if name is not None]
    if any(spec or conversion for _, _, spec, conversion in parts):
        raise ValueError("write {NAME} alone: an argument is said as it is")
    for name in names:
        if not name.isidentifier():
            raise ValueError("write the name of an argument in the braces: {NAME}")
    return tuple(names)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_text, value))
    return str(value)
