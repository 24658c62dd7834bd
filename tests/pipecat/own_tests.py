"""Plays Pipecat's own tests twice, alone and with every user aggregator governed, and compares.

    python tests/pipecat/own_tests.py CHECKOUT

CHECKOUT is a checkout of pipecat-ai/pipecat. Exit status 1: a test that passes alone fails when it
is governed, and is not among the `KNOWN` ones, or one of these has begun to pass.

As a plugin of pytest (``-p own_tests``) it governs the aggregators.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILES = (
    "test_context_aggregators_universal.py",
    "test_turn_start_vad_state.py",
    "test_user_turn_processor.py",
)
"""Its tests that make a user aggregator, but for those that need another package."""

LOOKS = "it looks at the strategies themselves, which are wrapped"
RECOMMENDED = "a service recommends strategies: refused at start, unless they are passed on"
DECIDES = "the model decides whether a turn is complete: refused at start"
REALTIME = "it looks at the strategies that a realtime service changes; governed ones stay"

KNOWN = {
    "test_filter_incomplete_user_turns_installs_strategy": DECIDES,
    "test_llm_messages_update_does_not_inject_turn_completion_into_context": DECIDES,
    "test_interim_transcription_not_pushed_downstream": "no interruption, as nobody speaks",
    "test_service_requested_turn_strategies_applied": RECOMMENDED,
    "test_user_strategies_override_service_request": LOOKS,
    "test_user_turn_stop_timeout_no_transcription": "there is no event on_user_turn_stop_timeout",
    "test_warns_when_pin_discards_the_services_interruption_setting": LOOKS,
    "test_external_recommendation_applies_with_realtime_mode_disabled": RECOMMENDED,
    "test_proposal_is_resolved_once_with_an_aggregator_downstream": (
        "a UserTurnProcessor starts and ends the turns: refused at start"
    ),
    "test_realtime_metadata_applies_recommended_external_strategies": REALTIME,
    "test_realtime_metadata_keeps_custom_strategies": REALTIME,
    "test_realtime_metadata_keeps_defaults_when_service_recommends_nothing": REALTIME,
    "test_realtime_metadata_reapplies_mutation_on_rebroadcast": REALTIME,
    "test_realtime_strategy_mutations_with_defaults": REALTIME,
}
"""The tests that fail only when the aggregators are governed, with the reason."""

TIMED = "test_transcript_only_turn_after_a_vad_turn_still_completes_promptly"
"""It fails on a busy machine with any two processors more that only pass frames on."""

HERE = Path(__file__).parent


def pytest_configure() -> None:
    """Govern every user aggregator that is made from now on."""
    from pipecat.frames.frames import Frame, LLMContextFrame
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregator
    from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
    from pipecat.services.llm_service import LLMService

    from turnfsm.runtime.pipecat.governor import TurnGovernor
    from turnfsm.runtime.pipecat.sources import Parts

    class Answered(FrameProcessor):  # type: ignore[misc]
        """In the place of a model: each request is answered at once, with nothing."""

        def __init__(self, agent: Any) -> None:
            super().__init__(name="answered")
            self._agent = agent

        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            await self.push_frame(frame, direction)
            down = direction is FrameDirection.DOWNSTREAM
            if down and isinstance(frame, LLMContextFrame) and self._agent.step is not None:
                self._agent.step_finished(self._agent.step)

    governors: dict[Any, TurnGovernor] = {}
    make_user, make_pipeline = LLMUserAggregator.__init__, Pipeline.__init__
    # most of these pipelines are only a part of one, which a governor refuses
    Parts.check = lambda self, **_: None  # type: ignore[method-assign]

    def init_user(self: Any, context: Any, *, params: Any = None, **options: Any) -> None:
        made = TurnGovernor()
        make_user(self, context, params=made.user(params), **options)
        governors[self] = made

    def init_pipeline(self: Any, processors: Any, **options: Any) -> None:
        parts = list(processors)
        for user in [part for part in parts if part in governors]:
            made = governors.pop(user)
            if not any(isinstance(part, LLMService) for part in parts):
                parts.insert(parts.index(user) + 1, Answered(made._session.agent))
            parts = made.processors(parts)
        make_pipeline(self, parts, **options)

    LLMUserAggregator.__init__ = init_user
    Pipeline.__init__ = init_pipeline


def passed(checkout: Path, *, governed: bool, only: str = "") -> Mapping[tuple[str, str], bool]:
    """Whether each test passes, by its class and its name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider"]
        command += ["-o", "addopts=", "-o", "pythonpath=", f"--junitxml={report}"]
        command += ["-p", "own_tests"] if governed else []
        command += ["-k", only or f"not {TIMED}"]
        command += [str(checkout / "tests" / name) for name in FILES]
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path}
        subprocess.run(
            command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, check=False
        )
        cases = ET.parse(report).iter("testcase")
        return {(case.get("classname", ""), case.get("name", "")): not len(case) for case in cases}


def main(checkout: Path) -> int:
    alone, governed = (passed(checkout, governed=on) for on in (False, True))
    print(
        f"{len(alone)} tests: {sum(alone.values())} pass alone, {sum(governed.values())} governed"
    )
    differ = {test[1] for test in alone if alone[test] != governed[test]}
    if late := differ - KNOWN.keys():  # they run in real time, on a busy machine too slowly
        again = passed(checkout, governed=True, only=" or ".join(late))
        differ -= late & {test[1] for test in again if again[test]}
    for name in sorted(differ):
        print(f"  {name}: {KNOWN.get(name, 'NOT KNOWN')}")
    for name in sorted(KNOWN.keys() - differ):
        print(f"  {name}: is the same now; take it from KNOWN")
    return int(differ != KNOWN.keys())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
