"""The example of the Pipecat kit in docs/testing.md."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

import turnfsm.testing.pipecat as kit

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")


def test_the_example_of_the_page_passes() -> None:
    (code,) = re.findall(r"```python\n(from turnfsm\.testing\.pipecat.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    names["test_a_guest_who_interrupts_gets_no_table"]()


def test_the_kit_lists_its_names() -> None:
    assert set(kit.__all__) <= set(dir(kit))
    assert all(hasattr(kit, name) for name in kit.__all__)
