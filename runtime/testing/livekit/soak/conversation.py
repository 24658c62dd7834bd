"""A random conversation: what the user and the application do. Determined by its seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import attrs

from turnfsm.runtime.testing.livekit.stage import Stage
from turnfsm.runtime.testing.livekit.user import ScriptedUser

__all__ = ["Conversation", "Deed", "draw_conversation"]

TURNS = 6
QUIET = 25.0
"""Seconds of silence at the end."""

_GAPS = (0.1, 0.4, 0.9, 1.5, 3.0, 5.0, 8.0)
_DEEDS = ("interrupt", "say", "reply", "ask", "clear")


@attrs.frozen
class Deed:
    """An action of the application at a given time."""

    at: float
    what: str
    number: int

    async def do(self, stage: Stage) -> None:
        """Ignores a refusal of LiveKit, which is not a failure."""
        session: Any = stage.session
        try:
            if self.what == "interrupt":
                await session.interrupt()
            elif self.what == "say":
                session.say(f"by the way {self.number}")
            elif self.what == "reply":
                session.generate_reply(instructions=f"go on {self.number}")
            elif self.what == "ask":
                session.generate_reply(user_input=f"typed {self.number}")
            else:
                session.clear_user_turn()
        except RuntimeError as error:
            stage.note(f"{self.what} is refused: {error}")


@attrs.frozen
class Conversation:
    """One conversation; `settings` are those of its stage."""

    seed: int
    user: ScriptedUser
    deeds: tuple[Deed, ...]
    settings: Mapping[str, Any]
    seconds: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the user says, without noises."""
        return tuple(u.text for u in self.user.utterances if u.text)

    def text(self) -> str:
        """Its script."""
        said = [
            f"{u.at:7.2f}  user {u.text or '(noise)'!r} until {u.end:.2f}"
            for u in self.user.utterances
        ]
        done = [f"{deed.at:7.2f}  application: {deed.what}" for deed in self.deeds]
        return "\n".join([f"seed {self.seed}: {dict(self.settings)}", *sorted([*said, *done])])


def draw_conversation(seed: int) -> Conversation:
    """The conversation of a seed."""
    draws = Random(seed)
    user, at = ScriptedUser(), 0.5
    for number in range(1, TURNS + 1):
        at = round(at + draws.choice(_GAPS), 2)
        if draws.random() < 0.15:
            seconds = draws.choice((0.1, 0.3, 1.0))
            user.makes_noise(at=at, duration=seconds)
        else:
            text = " ".join(f"u{number}{chr(97 + i)}" for i in range(draws.randint(1, 6)))
            seconds = round(0.3 * len(text.split()), 2)
            user.says(text, at=at, duration=seconds, stt_delay=draws.choice((0.05, 0.3, 0.3, 1.0)))
        at += seconds
    many = draws.choice((0, 0, 1, 2))
    moments = sorted(round(draws.uniform(0.5, at), 2) for _ in range(many))
    deeds = tuple(Deed(t, draws.choice(_DEEDS), n) for n, t in enumerate(moments, 1))
    interruption = {"min_words": draws.choice((0, 0, 0, 2))}
    settings = {
        "can_pause": draws.random() < 0.7,
        "turn_handling": {
            "preemptive_generation": {"enabled": draws.random() < 0.7},
            "interruption": interruption,
        },
    }
    return Conversation(seed, user, deeds, settings, at + QUIET)
