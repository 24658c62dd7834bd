"""What is judged in real time on a machine that others use, too."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from room.machine import BUSY, Busy, Others, judged

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


@pytest.fixture(autouse=True)
def nobody_is_adopted() -> Iterator[None]:
    """After a test orphans are init's again: other tests of this process know nothing of it."""
    yield
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


def test_what_a_child_uses_is_ours() -> None:
    before = Others()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    assert Others()._own - before._own > 0.25
    assert 0.0 <= before.share() <= 1.0


def test_what_the_child_of_a_killed_child_uses_is_ours() -> None:
    """A worker is killed, and the process of its call goes on for a moment."""
    before = Others()
    more = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN + '; print()'!r}])"
    with subprocess.Popen([sys.executable, "-c", more], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        while not psutil.Process(killed.pid).children():
            pass
        killed.kill()
        killed.stdout.read()  # ends with the last process that has it
    assert Others()._own - before._own > 0.25


def failing(times: int) -> tuple[Callable[[], str], list[str]]:
    """Fails so often; and what was played."""
    played: list[str] = []

    def play() -> str:
        played.append("once")
        assert len(played) > times, "the agent said nothing"
        return "right"

    return play, played


def test_what_fails_once_is_reported_and_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two plays in real time are the same."""
    monkeypatch.setattr(Others, "share", lambda _: BUSY / 2)
    play, played = failing(1)
    told: list[str] = []
    assert judged(play, told.append) == "right"
    assert len(played) == 2
    (line,) = told
    assert line.startswith("failed, played again (other programs used 15% of the processor): the a")


def test_what_fails_twice_on_an_idle_machine_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Others, "share", lambda _: BUSY / 2)
    play, played = failing(5)
    with pytest.raises(AssertionError, match="the agent said nothing"):
        judged(play)
    assert len(played) == 2


def test_on_a_busy_machine_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is played three times; then the error says why."""
    monkeypatch.setattr(Others, "share", lambda _: 0.6)
    play, played = failing(2)
    assert judged(play) == "right"
    assert len(played) == 3
    with pytest.raises(Busy, match=r"other programs used 60%, 60%, 60% .*: the agent said"):
        judged(failing(3)[0])
