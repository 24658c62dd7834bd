from functools import partial

from desk import Desk, Supervisor, make_session

from turnfsm.testing import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

MODEL: dict[str, Reply | str] = {
    "discount": Reply(calls=Call("ask_supervisor", {"question": "ten percent?"})),
    "never mind": "As you like.",
}
ASKED = {"ask_supervisor": "One moment, I ask my supervisor."}


def call(supervisor: Supervisor, user: ScriptedUser, answer_at: float | None = None) -> Outcome:
    desk = Desk(supervisor)
    stage = Stage(
        partial(make_session, desk), user=user, llm=ScriptedLLM(MODEL, ASKED), agent=lambda: desk
    )
    if answer_at is not None:
        stage.at(answer_at, lambda stage: supervisor.answers.put_nowait("ten percent is fine"))
    outcome = stage.run(50.0)
    print(outcome.timeline())  # pytest shows it when an assertion fails
    return outcome


def test_the_caller_hears_what_the_supervisor_says():
    supervisor = Supervisor()
    outcome = call(supervisor, ScriptedUser().says("a discount please", at=1.0), answer_at=12.0)
    assert supervisor.questions == ["ten percent?"]
    answer = outcome.heard_saying("ten percent is fine")
    assert answer is not None
    assert 12.0 < answer.start < 12.5


def test_nobody_is_asked_when_no_supervisor_is_online():
    supervisor = Supervisor(online=False)
    call(supervisor, ScriptedUser().says("a discount please", at=1.0))
    assert supervisor.questions == []


def test_a_caller_who_says_something_else_is_answered_without_the_supervisor():
    supervisor = Supervisor()
    user = ScriptedUser().says("a discount please", at=1.0).says("never mind then", at=9.0)
    outcome = call(supervisor, user, answer_at=14.0)
    answer = outcome.heard_saying("As you like")
    assert answer is not None
    assert answer.start < 12.0
    assert not [h for h in outcome.heard if "ten percent" in h.text]
