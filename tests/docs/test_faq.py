"""docs/faq.md and docs/glossary.md: their code is valid, and their names are those of the flow."""

import re
from pathlib import Path

from flow_text import parsed

from turnfsm import load_flow
from turnfsm.runtime.proof import require_proof

DOCS = Path(__file__).parents[2] / "docs"
FAQ = (DOCS / "faq.md").read_text(encoding="utf-8")


def test_the_flow_of_the_faq_is_proved() -> None:
    """It can be copied as it stands."""
    [text] = re.findall(r"```yaml\n(.*?)```", FAQ, re.DOTALL)
    flow = parsed(text)
    assert require_proof(flow) == ()


def test_the_code_of_the_faq_compiles() -> None:
    """Each block is Python."""
    for text in re.findall(r"```python\n(.*?)```", FAQ, re.DOTALL):
        compile(text, "faq.md", "exec")


def test_names_of_the_flow_that_the_faq_uses_exist() -> None:
    """Timers, facts and triggers in code font."""
    flow = load_flow("turn")
    known = {*flow.timers, *flow.facts, *flow.triggers, *flow.actions}
    named = {"false_interruption", "interruptible", "tools_held", "barge_in", "finish_limit"}
    named |= {"turn_dropped", "result_uncommitted"}
    assert named <= known
    assert [name for name in named if name not in FAQ] == []
