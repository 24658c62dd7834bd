"""Random flows for pictures, by seed."""

import random

from turnfsm.fsm import Flow, State, Transition


def random_flow(seed: int) -> Flow:
    """Make a flow of up to 12 states and 60 transitions, some of them final."""
    dice = random.Random(seed)
    names = [f"state_{i}" * dice.choice((1, 1, 2)) for i in range(dice.randint(1, 12))]
    triggers = [f"event_{i}" for i in range(9)]
    timers = {f"timer_{i}": dice.choice((0.25, 2.0, 600.0)) for i in range(4)}
    facts = [f"fact_{i}" * dice.choice((1, 3)) for i in range(6)]
    final = {name for name in names[1:] if dice.random() < 0.12}
    live = [name for name in names if name not in final]
    tables: dict[str, dict[str, list[Transition]]] = {name: {} for name in names}
    for _ in range(dice.randint(0, 60)):
        table = tables[dice.choice(live)]
        row = Transition(
            dest=dice.choice([None, *names]),
            conditions=tuple(dice.sample(facts, dice.choice((0, 0, 1, 3)))),
            actions=tuple(dice.sample(["say_it", "stop_it", "ask_the_model"], dice.randint(0, 3))),
        )
        table.setdefault(dice.choice([*triggers, *timers]), []).append(row)
    states = {}
    for name, table in tables.items():
        on = {t: tuple(rows) for t, rows in table.items() if t in triggers}
        after = {t: tuple(rows) for t, rows in table.items() if t in timers}
        ignores = tuple(t for t in triggers if t not in on and dice.random() < 0.2)
        words = " ".join(["It is so."] * dice.randint(0, 9))
        states[name] = State(
            is_=words, on=on, after=after, ignores=ignores * (name in live), final=name in final
        )
    return Flow("random", dice.choice(live), states, timers=timers)
