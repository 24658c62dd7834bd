"""The script that plays Pipecat's own tests governs the parts of pipelines that these make."""

from pathlib import Path

from own_tests import FILES, passed

PART = """
import unittest

from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregator
from pipecat.tests.utils import run_test

class Part(unittest.IsolatedAsyncioTestCase):
    async def test_part(self):
        user = LLMUserAggregator(LLMContext())
        pipeline = Pipeline([user])
        await run_test(pipeline, frames_to_send=[])
        assert len(pipeline.processors) > 3
"""


def test_a_part_of_a_pipeline_runs_and_is_governed(tmp_path: Path) -> None:
    """Alone it has a source, the aggregator and a sink; a governor adds gates and a model."""
    (tmp_path / "tests").mkdir()
    for name in FILES:
        (tmp_path / "tests" / name).write_text(PART, encoding="utf-8")
    for governed in (False, True):
        results = passed(tmp_path, governed=governed)
        assert [*results.values()] == [governed] * len(FILES)
