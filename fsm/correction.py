"""Calls that a newer call of the same tool replaces."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from .fields import Names, described, doc

__all__ = ["Correction"]


@described
@attrs.frozen
class Correction:
    """Which newer call of a tool corrects an earlier one.

    Example:
        >>> correction = Correction(("guest",))
        >>> tuesday, thursday = {"guest": "Kim", "day": "Tue"}, {"guest": "Kim", "day": "Thu"}
        >>> correction.applies(tuesday, thursday), correction.applies(tuesday, tuesday)
        (True, False)
        >>> correction.applies(tuesday, {"guest": "Lee", "day": "Tue"})
        False
    """

    same: Names = doc(
        "Arguments that must be equal in both calls, because they identify what a call is about. "
        "Another argument must differ. Without this key any newer call with different arguments "
        "corrects an earlier one.",
        default=(),
    )

    def applies(self, earlier: Mapping[str, object], newer: Mapping[str, object]) -> bool:
        """Whether a call with the newer arguments corrects one with the earlier ones."""
        if earlier == newer:
            return False
        return all(_plain(earlier.get(name)) == _plain(newer.get(name)) for name in self.same)


def _plain(value: object) -> object:
    return " ".join(value.split()).casefold() if isinstance(value, str) else value
