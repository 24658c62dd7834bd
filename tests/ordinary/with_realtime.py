"""The same on realtime models."""

from __future__ import annotations

from conversations import Answer, ordinary
from with_agents import SAYS, TALK, Host, Says, plain
from with_applications import chat, reply, run, say
from with_tools import ASKS, WEATHER, agent_with, first, reports, second, weather

OURS = {"kits": ("ours",)}

for model in ("realtime", "server"):
    of = {"model": model, **OURS}
    ordinary(f"{model}: two turns", plain, says=SAYS, answers=TALK, **of)
    ordinary(f"{model}: a tool", agent_with(weather), says=ASKS, answers=WEATHER, **of)
    ordinary(
        f"{model}: two tools",
        agent_with(first, second),
        says={1.0: "both"},
        answers={"both": Answer("Both.", (("first", "{}"), ("second", "{}"))), "two": "There.",
                 "one": "There."},
        **of,
    )  # fmt: skip
    ordinary(
        f"{model}: a tool in the background",
        agent_with(reports),
        says={1.0: "go"},
        answers={
            "go": Answer("I am going.", (("reports", "{}"),)),
            "it takes a while": "It takes a while.",
            "at last": "It is done.",
        },
        seconds=14.0,
        **of,
    )
    ordinary(
        f"{model}: a handoff",
        lambda: Host("says"),
        says={1.0: "a table please", 8.0: "hello"},
        answers=TALK | {"a table please": Answer("This way.", (("seat", "{}"),))},
        seconds=13.0,
        **of,
    )
    ordinary(f"{model}: say", plain, does={1.0: say}, says={6.0: "hello"}, answers=TALK,
             seconds=11.0, **of)  # fmt: skip
    ordinary(
        f"{model}: generate_reply",
        plain,
        does={1.0: reply, 4.0: chat},
        answers=TALK | {"tell a joke": "Ha ha."},
        **of,
    )
    ordinary(f"{model}: an eval", plain, does={1.0: run}, answers=TALK, seconds=6.0, **of)
    ordinary(f"{model}: on_enter says", Says, says={5.0: "hello"}, answers=TALK, **of)
