"""Putting a governor into a pipeline: what is checked, and what stays as the application has it."""

import ast
import inspect
import re
import warnings
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.audio.filters.base_audio_filter import BaseAudioFilter
from pipecat.audio.mixers.base_audio_mixer import BaseAudioMixer
from pipecat.audio.vad.vad_analyzer import VADAnalyzer
from pipecat.frames import frames as f
from pipecat.pipeline.llm_switcher import LLMSwitcher
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.ai_service import AIService
from pipecat.services.openai.live.llm import OpenAILiveLLMService
from pipecat.services.openai.realtime.events import (
    AudioConfiguration,
    AudioInput,
    SessionProperties,
)
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import STTService
from pipecat.services.xai.realtime.llm import GrokRealtimeLLMService
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_start import BaseUserTurnStartStrategy
from pipecat.turns.user_stop import BaseUserTurnStopStrategy, SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_processor import UserTurnProcessor
from pipecat.turns.user_turn_strategies import (
    ExternalUserTurnStrategies,
    FilterIncompleteUserTurnStrategies,
    UserTurnStrategies,
)
from pipecat_stage import Stage, moments

import turnfsm.runtime.host.output
import turnfsm.runtime.pipecat
from turnfsm import HostError, TurnfsmError, parse_flow
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.conversation.vocabulary import OPTIONAL_TRIGGERS, TRIGGERS
from turnfsm.runtime.pipecat.sources import PARTS
from turnfsm.runtime.testing.pipecat import (
    Loudspeaker,
    Microphone,
    Says,
    ScriptedModel,
    Voice,
    own_strategies,
)

OWN = UserTurnStrategies(start=[], stop=[])
"""Stands for the kit's strategies."""


def _parts(
    governor: TurnGovernor,
    *,
    user: bool = True,
    transport: bool = True,
    own: UserTurnStrategies | None = OWN,
) -> list[Any]:
    given = LLMUserAggregatorParams(user_turn_strategies=own_strategies() if own is OWN else own)
    params = governor.user(given) if user else given
    pair = LLMContextAggregatorPair(LLMContext(), user_params=params)
    params = TransportParams(audio_out_enabled=True)
    speaker = Loudspeaker([], governor.transport(params) if transport else params)
    model = ScriptedModel(lambda messages: Says())
    return [Microphone(), pair.user(), model, Voice([]), speaker, pair.assistant()]


def test_a_pipeline_gets_gates_around_the_parts_that_are_governed() -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    governed = governor.processors(parts)
    assert [one for one in governed if one in parts] == parts
    assert len(governed) == len(parts) + 6


@pytest.mark.parametrize(
    ("left_out", "trigger", "action", "remedy"),
    [
        ("user", "barge_in", "answer_turn", "user_params=governor.user("),
        ("transport", "start_playout", "pause_output", "params=governor.transport("),
        (2, "step_started", "request_reply", "put the LLM service between"),
        (4, "playout_started", "", "put transport.output() behind the TTS"),
        (5, "step_finished", "abandon_step", "put the assistant aggregator behind"),
    ],
)
def test_what_is_not_governed_is_an_error_with_its_triggers_and_a_remedy(
    left_out: str | int, trigger: str, action: str, remedy: str
) -> None:
    governor = TurnGovernor()
    parts = _parts(governor, user=left_out != "user", transport=left_out != "transport")
    if isinstance(left_out, int):
        del parts[left_out]
    with pytest.raises(HostError) as raised:
        governor.processors(parts)
    said = str(raised.value)
    assert f"{trigger}" in said.partition("nothing carries out")[0]
    assert action in said
    assert remedy in said
    assert said.count("nothing posts") == 1


def test_the_parameters_of_the_application_stay_as_they_are() -> None:
    """They may be those of the next conversation, too."""
    transport = TransportParams(audio_out_enabled=True)
    user = LLMUserAggregatorParams(user_turn_strategies=own_strategies())
    own = user.user_turn_strategies
    governor = TurnGovernor()
    assert governor.transport(transport) is not transport
    assert governor.user(user) is not user
    assert transport.audio_out_filter is None
    assert (user.user_turn_strategies, user.user_turn_stop_timeout) == (own, 5.0)


def test_processors_in_another_order_are_refused() -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    parts[4], parts[5] = parts[5], parts[4]
    with pytest.raises(HostError, match="in another order"):
        governor.processors(parts)


def test_a_pipeline_without_the_gates_ends_at_its_start_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`governor.processors` was forgotten."""
    monkeypatch.setattr(TurnGovernor, "processors", lambda self, parts: parts)

    stage = Stage(lambda messages: Says("Hello.")).play(moments((0.0, "hello")), seconds=8.0)
    assert "in governor.processors([...])" in stage.errors[0]
    assert stage.heard == ""


class _Recognises(STTService):
    async def run_stt(self, audio: bytes) -> AsyncGenerator[f.Frame | None, None]:
        yield None


STT_SETTINGS = STTSettings(model="scripted", language=None)


@pytest.mark.parametrize("voice", [2, 5, 6])
def test_a_tts_that_does_not_follow_the_model_is_refused(voice: int) -> None:
    """Before the model, after the output, after the assistant aggregator."""
    governor = TurnGovernor()
    parts = _parts(governor)
    tts = parts.pop(3)
    parts.insert(voice if voice == 2 else voice - 1, tts)
    with pytest.raises(HostError, match="in another order"):
        governor.processors(parts)


@pytest.mark.parametrize("place", [2, 4, 6])
def test_an_stt_behind_the_user_aggregator_is_refused(place: int) -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    parts.insert(place, _Recognises(settings=STT_SETTINGS))
    with pytest.raises(HostError, match="write: STT service, user aggregator"):
        governor.processors(parts)


def test_a_second_stt_may_be_anywhere() -> None:
    """It may transcribe what the agent says."""
    governor = TurnGovernor()
    parts = _parts(governor)
    parts.insert(5, _Recognises(settings=STT_SETTINGS))
    parts.insert(1, Pipeline([_Recognises(settings=STT_SETTINGS)]))
    governor.processors(parts)


def test_a_second_model_is_refused() -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    parts.insert(3, ScriptedModel(lambda messages: Says()))
    with pytest.raises(TurnfsmError, match="the model of this TurnGovernor is given twice"):
        governor.processors(parts)


def _openai_without_vad() -> OpenAIRealtimeLLMService:
    manual = SessionProperties(audio=AudioConfiguration(input=AudioInput(turn_detection=False)))
    settings = OpenAIRealtimeLLMService.Settings(session_properties=manual)
    return OpenAIRealtimeLLMService(api_key="none", settings=settings)


def _gemini(vad_is_off: bool) -> FrameProcessor:
    gemini = pytest.importorskip("pipecat.services.google.gemini_live.llm", exc_type=ImportError)
    vad = gemini.GeminiVADParams(disabled=vad_is_off)
    settings = gemini.GeminiLiveLLMService.Settings(vad=vad)
    return gemini.GeminiLiveLLMService(api_key="none", settings=settings)


OWN_TURNS = "hears the user itself and answers without asking the flow"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: OpenAIRealtimeLLMService(api_key="none"), r"turn_detection=False\)"),
        (
            lambda: GrokRealtimeLLMService(api_key="none"),
            r"SessionProperties\(turn_detection=None\)",
        ),
        (lambda: OpenAILiveLLMService(api_key="none"), OWN_TURNS),
        (lambda: _gemini(False), OWN_TURNS),
        (lambda: _gemini(True), OWN_TURNS),
        (
            lambda: LLMSwitcher([ScriptedModel(lambda messages: Says()), _openai_without_vad()]),
            "is in an LLMSwitcher",
        ),
    ],
    ids=["openai", "grok", "openai live", "gemini", "gemini, no vad", "switcher"],
)
def test_a_service_that_hears_the_user_itself_is_refused(
    make: Callable[[], FrameProcessor], said: str
) -> None:
    """Also if the application gives strategies."""
    governor = TurnGovernor()
    parts = _parts(governor)
    parts[2] = make()
    with pytest.raises(HostError, match=said):
        governor.processors(parts)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: _gemini(False), "does not detect them"),
        (lambda: ScriptedModel(lambda messages: Says()), "does not detect them"),
        (_openai_without_vad, "turn its turn detection on"),
        (lambda: OpenAILiveLLMService(api_key="none"), OWN_TURNS),
        (lambda: LLMSwitcher([OpenAIRealtimeLLMService(api_key="none")]), "is in an LLMSwitcher"),
    ],
    ids=["gemini", "text", "openai, vad off", "openai live", "switcher"],
)
def test_a_flow_that_leaves_the_turns_to_the_service_needs_one_that_detects_them(
    make: Callable[[], FrameProcessor], said: str
) -> None:
    governor = TurnGovernor("speech_to_speech")
    parts = _parts(governor, own=None)
    parts[2] = make()
    with pytest.raises(HostError, match=said):
        governor.processors(parts)


def test_a_service_that_detects_the_turns_needs_no_stt_and_no_strategies() -> None:
    governor = TurnGovernor("speech_to_speech")
    _, user, _, _, *others = _parts(governor, own=None)
    assert governor.processors([user, OpenAIRealtimeLLMService(api_key="none"), *others])
    with pytest.raises(HostError, match="leave user_turn_strategies out"):
        _parts(TurnGovernor("speech_to_speech"))


def test_a_service_whose_turn_detection_is_off_is_governed() -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    parts[2] = _openai_without_vad()
    assert governor.processors(parts)


@pytest.mark.parametrize("around", [lambda one: one, lambda one: Pipeline([one])])
def test_a_processor_that_ends_the_turns_itself_is_refused(
    around: Callable[[FrameProcessor], FrameProcessor],
) -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    parts.insert(1, around(UserTurnProcessor()))
    with pytest.raises(HostError, match=r"UserTurnProcessor.*governor\.user\("):
        governor.processors(parts)


def _answers_twice() -> ParallelPipeline:
    return ParallelPipeline(
        [ScriptedModel(lambda messages: Says())], [ScriptedModel(lambda messages: Says())]
    )


@pytest.mark.parametrize(
    ("compound", "inner"),
    [
        (_answers_twice, "ScriptedModel"),
        (lambda: Pipeline([ScriptedModel(lambda messages: Says())]), "ScriptedModel"),
        (
            lambda: ParallelPipeline([Loudspeaker([], TransportParams())], [Voice([])]),
            "Loudspeaker",
        ),
    ],
)
def test_a_governed_part_inside_of_another_pipeline_is_refused(
    compound: Callable[[], FrameProcessor], inner: str
) -> None:
    governor = TurnGovernor()
    parts = _parts(governor)
    parts[2] = compound()
    with pytest.raises(HostError, match=rf"{inner}#\d+ is inside .*Pipeline#\d+"):
        governor.processors(parts)


class DetectsTurns(AIService):
    """An STT service that finds the ends of turns itself."""

    def service_metadata_frame(self) -> f.ServiceMetadataFrame:
        own = ExternalUserTurnStrategies()
        return f.ServiceMetadataFrame(service_name=self.name, user_turn_strategies=own)


def test_strategies_that_only_a_service_recommends_are_refused_with_the_line_to_write() -> None:
    governor = TurnGovernor()
    parts = _parts(governor, own=None)
    parts[0] = DetectsTurns()
    with pytest.raises(HostError, match=r"DetectsTurns.*ExternalUserTurnStrategies\(\)"):
        governor.processors(parts)


def test_strategies_that_a_service_recommends_can_be_given() -> None:
    governor = TurnGovernor()
    parts = _parts(governor, own=ExternalUserTurnStrategies())
    parts[0] = DetectsTurns()
    assert governor.processors(parts)


@pytest.mark.parametrize(
    "options",
    [
        {"user_turn_strategies": FilterIncompleteUserTurnStrategies()},
        {"filter_incomplete_user_turns": True},
    ],
)
def test_a_model_that_decides_whether_the_turn_is_complete_is_refused(
    options: dict[str, Any],
) -> None:
    with warnings.catch_warnings(record=True):  # the second is deprecated
        params = LLMUserAggregatorParams(**options)
    with pytest.raises(HostError, match="lets the model decide"):
        TurnGovernor().user(params)


def test_a_flow_that_pipecat_cannot_carry_out_is_refused() -> None:
    with pytest.raises(HostError, match="needs turn_detection='manual'"):
        TurnGovernor("push_to_talk")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("states: {listening: {tuning: {max_retries: 1}}}", "preemptive replies (max_retries)"),
        ("tools: {tuning: {pay: {preemptive_tts: true}}}", "preemptive replies (preemptive_tts)"),
        ("overlays: {clerk: {min_words: 2}}", "has overlays, by agent"),
    ],
)
def test_settings_that_a_pipeline_cannot_follow_are_refused(keys: str, said: str) -> None:
    flow, _ = parse_flow(f"flow: mine\nextends: turn\n{keys}")
    assert flow is not None
    with pytest.raises(HostError, match=re.escape(said)):
        TurnGovernor(flow)


def test_a_flow_of_another_kind_is_refused_and_the_message_names_pipecat() -> None:
    with pytest.raises(HostError, match="cannot govern a Pipecat pipeline: it lacks the trigger"):
        TurnGovernor("utterance")


OWN = """
flow: rings
kind: turn
is: A supervisor may answer.
extends: turn
events: {supervisor_answered: They have answered.}
actions: {ring_supervisor: Ring them.}
states:
  listening:
    on:
      supervisor_answered: {actions: ring_supervisor}
"""


class _Own:
    def __init__(self) -> None:
        self.rung = 0

    def ring_supervisor(self, event: object) -> None:
        self.rung += 1


def test_a_trigger_that_nobody_posts_and_an_action_that_nobody_carries_out_are_errors() -> None:
    flow, _ = parse_flow(OWN)
    with pytest.raises(HostError, match=r"'ring_supervisor'.*give TurnGovernor actions="):
        TurnGovernor(flow, proof="off")
    with pytest.raises(HostError, match="'supervisor_answered', which nothing posts on Pipecat"):
        TurnGovernor(flow, proof="off", actions=_Own())
    with pytest.raises(HostError, match="did you mean 'supervisor_answered'"):
        TurnGovernor(flow, proof="off", actions=_Own(), posts=["supervisor_answerd"])


def test_a_trigger_of_the_application_reaches_its_action() -> None:
    own, (flow, _) = _Own(), parse_flow(OWN)

    async def script(stage: Stage) -> None:
        assert stage.governor is not None
        stage.governor.turn.post("supervisor_answered")

    posts = ["supervisor_answered"]
    given = {"flow": flow, "proof": "off", "actions": own, "posts": posts}
    stage = Stage(lambda messages: Says(), **given).play(script, seconds=1.0)
    assert own.rung == 1
    assert stage.governor is not None
    [note] = stage.governor.turn.journal.notes("unproved")
    assert note.data["reasons"] == ["it was not checked: proof='off'"]


def test_a_transport_with_other_parameters_ends_the_pipeline_with_an_error() -> None:
    """`governor.transport` was called, and the transport was built with something else."""

    stage = Stage(lambda messages: Says("Hello."), other_params=True).play(
        moments((0.0, "hello")), seconds=5.0
    )
    assert stage.heard == ""
    assert any("params=governor.transport(" in error for error in stage.errors)


def test_a_filter_of_the_application_still_filters() -> None:
    class Quiet(BaseAudioFilter):
        seen = 0

        async def start(self, sample_rate: int) -> None: ...
        async def stop(self) -> None: ...
        async def process_frame(self, frame: f.FilterControlFrame) -> None: ...

        async def filter(self, audio: bytes) -> bytes:
            self.seen += 1
            return audio

    own = Quiet()

    stage = Stage(lambda messages: Says("Hello."), filter=own).play(
        moments((0.0, "hello")), seconds=6.0
    )
    assert stage.heard == "Hello."
    assert own.seen > 5


def test_a_turn_without_an_end_is_answered_after_the_seconds_of_the_application() -> None:
    """No stop strategy ends it; Pipecat's `user_turn_stop_timeout` does, and the flow is asked."""

    def strategies() -> UserTurnStrategies:
        return UserTurnStrategies(
            start=own_strategies().start,
            stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=900.0)],
        )

    stage = Stage(lambda messages: Says("Hello."), strategies=strategies).play(
        moments((0.0, "hello"))
    )
    assert stage.heard == "Hello."
    assert 6.0 < stage.when("Hello") < 8.0


SOURCES = sorted(Path(turnfsm.runtime.pipecat.__file__).parent.glob("*.py"))
OUTPUT = Path(turnfsm.runtime.host.output.__file__)  # a base of a filter
BASES = (
    *(BaseAudioFilter, BaseAudioMixer, BaseUserTurnStartStrategy, BaseUserTurnStopStrategy),
    *(FrameProcessor, VADAnalyzer),
)


def _own(tree: ast.AST) -> set[str]:
    """The private names that a module gives itself."""
    defs = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    stores = {
        n.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }
    fields = {
        n.target.id
        for n in ast.walk(tree)
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    return {name for name in defs | stores | fields if _private(name)}


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_only_public_names_of_pipecat_are_used(path: Path) -> None:
    """What begins with an underscore is our own, and `self` has it; no private module."""
    tree = ast.parse(path.read_text("utf-8"))
    own, foreign = _own(tree), []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name("self"), attr=name) if name in own:
                pass
            case ast.Attribute(attr=name) if _private(name):
                foreign.append(ast.unparse(node))
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("pipecat"):
                foreign += [part for part in module.split(".") if _private(part)]
                foreign += [one.name for one in names if _private(one.name)]
    assert foreign == []
    assert not re.search(r"__class__|__dict__|[gs]etattr\(", path.read_text("utf-8"))


def test_no_private_name_of_pipecat_is_overridden() -> None:
    """A name that our classes give themselves is none that a base class of Pipecat has."""
    own = set().union(*(_own(ast.parse(path.read_text("utf-8"))) for path in (*SOURCES, OUTPUT)))
    bases = {base for one in BASES for base in one.__mro__ if base.__module__.startswith("pipecat")}
    theirs = {name for base in bases for name in re.findall(r"\b_\w+", inspect.getsource(base))}
    assert len(theirs) > 50
    assert own & theirs == set()


def test_no_deprecated_name_of_pipecat_is_used() -> None:
    """Pipecat 2 removes them. Its warnings are errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        governor = TurnGovernor()
        governor.processors(_parts(governor))


def test_the_sources_are_triggers_that_the_host_posts() -> None:
    posted = {*TRIGGERS, *OPTIONAL_TRIGGERS}
    assert {name for part in PARTS.values() for name in part.triggers} <= posted


def test_a_text_about_missing_audio_is_refused_with_its_key() -> None:
    flow, _ = parse_flow(
        "flow: f\nextends: turn\nnot_heard: {say: Again please., no_audio: Hello?}"
    )
    with pytest.raises(HostError, match="the key no_audio of not_heard"):
        TurnGovernor(flow, proof="off")


@pytest.mark.parametrize(
    ("given", "name"), [(Pipeline, "Pipeline"), (lambda parts: [*parts, None], "NoneType")]
)
def test_only_a_list_of_processors_is_taken(given: Any, name: str) -> None:
    governor = TurnGovernor()
    parts = given(_parts(governor))
    with pytest.raises(TurnfsmError, match=rf"processors\({name}\): give the list"):
        governor.processors(parts)


def test_the_parameters_of_a_transport_keep_their_type() -> None:
    class Mine(TransportParams):
        room: str = "a"

    assert TurnGovernor().transport(Mine(room="b")).room == "b"


def test_parts_of_another_governor_do_not_count() -> None:
    parts = _parts(TurnGovernor())
    with pytest.raises(HostError, match="What another TurnGovernor governs does not count"):
        TurnGovernor().processors(parts)
