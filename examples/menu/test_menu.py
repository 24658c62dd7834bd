import asyncio
from pathlib import Path

from phone import Phone

from turnfsm import TurnRuntime
from turnfsm.testing import run

MENU = Path(__file__).with_name("menu.yaml")


def test_a_caller_is_connected_when_somebody_is_free():
    phone = Phone()
    call = TurnRuntime(MENU, phone)
    assert call.post("pressed_2")
    assert (call.state, phone.done) == ("connected", ["connect"])


def test_a_caller_is_told_when_nobody_is_free():
    phone = Phone(person_free=False)
    call = TurnRuntime(MENU, phone)
    call.post("pressed_2")
    assert (call.state, phone.done) == ("menu", ["busy"])


def test_a_caller_who_presses_nothing_hears_the_menu_once_more():
    async def silence() -> None:
        phone = Phone()
        call = TurnRuntime(MENU, phone)
        call.start()
        await asyncio.sleep(5.1)
        assert (call.state, phone.done) == ("last_chance", ["menu"])
        await asyncio.sleep(5.0)
        assert (call.state, phone.done) == ("over", ["menu", "hang up"])
        await call.aclose()

    run(silence())  # in virtual time: ten seconds take a millisecond
