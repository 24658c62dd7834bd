"""What must happen in the demo's conversation, as data. The exit status depends on it."""

from attrs import frozen

__all__ = ["EXPECTED", "SILENCE", "WORD_ERRORS", "Expectation", "Mark"]

WORD_ERRORS = 0.15
"""The share of words that an STT may get wrong, of the user and of the agent."""

SILENCE = 0.3
"""Seconds for which the agent may be silent after a backchannel."""


@frozen
class Mark:
    """A record of the journal. The given fields must match; the others may have any value."""

    what: str = ""  # the trigger, or the kind of the note
    verdict: str = ""  # taken or refused
    state: str = ""  # when the trigger was posted
    dest: str = ""
    action: str = ""  # one of the actions
    fact: str = ""  # one of the facts that were true afterwards
    text: str = ""  # consecutive words in the text of a note
    name: str = ""  # of a tool
    new: str = ""  # the agent state that LiveKit publishes from now on


@frozen
class Expectation:
    """Records that must occur in this order, and records that must not occur, within a part of the
    conversation."""

    name: str
    shows: str
    line: str = ""  # the part begins with this line of the user; empty: at the start
    until: str = ""  # it ends before this line; empty: at the end
    before: Mark | None = None  # or already before the first such record
    order: tuple[Mark, ...] = ()
    never: tuple[Mark, ...] = ()


def _taken(what: str, state: str = "", dest: str = "") -> Mark:
    return Mark(what, "taken", state=state, dest=dest)


def _heard(text: str) -> Mark:
    return Mark("agent_audio", text=text)


_PAUSE, _RESUME = Mark(action="pause_output"), Mark(action="resume_output")

EXPECTED = (
    Expectation(
        name="no_speculation",
        shows="No speculative reply is generated while a tool blocks the turn.",
        never=(Mark("preemptive_generation", "taken", fact="tools_running"),),
    ),
    Expectation(
        name="no_silent_resume",
        shows="Only audio that was paused during playout is resumed.",
        never=(
            Mark("", "taken", state="listening", action="resume_output"),
            Mark("", "taken", state="thinking", action="resume_output"),
            Mark("", "taken", state="tool_running", action="resume_output"),
        ),
    ),
    Expectation(
        name="preamble_heard",
        shows="A command: the preamble of the tool call is heard, then the result.",
        line="command",
        until="errand",
        order=(_heard("Going forward ten meters."), _heard("I have reached the place.")),
    ),
    Expectation(
        name="tool_answered",
        shows="The same command: the agent reports the result when the tool has ended.",
        line="command",
        until="errand",
        order=(Mark("tool", name="drive", text="done"), _heard("I have reached the place.")),
    ),
    Expectation(
        name="speculation_refused",
        shows="The user speaks while a tool runs: speculation is refused, the turn is answered.",
        line="interjection",
        until="question",
        order=(
            Mark("preemptive_generation", "refused", state="tool_running"),
            _taken("turn_committed", state="tool_running"),
            _heard("I will know when I have found it."),
        ),
        never=(Mark("preemptive_generation", "taken", state="tool_running"),),
    ),
    Expectation(
        name="pending_result_heard",
        shows="The tool continued, and its result is delivered once the floor is free.",
        line="interjection",
        until="question",
        order=(
            Mark("tool", name="find_parcel", text="done"),
            _taken("next_reply"),
            _heard("There it is: on the top shelf, and it is very light."),
        ),
    ),
    Expectation(
        name="backchannel_resumed",
        shows="A backchannel: the answer pauses, then resumes in the same step.",
        line="backchannel",
        until="barge_in",
        order=(
            _taken("barge_in", state="speaking", dest="paused"),
            Mark("", "taken", state="paused", dest="speaking", action="resume_output"),
            Mark("agent_false_interruption"),
            Mark("agent_audio"),
        ),
        never=(_taken("step_started"), _taken("step_finished"), _taken("step_interrupted")),
    ),
    Expectation(
        name="barge_in_interrupts",
        shows="A barge-in: the rest of the answer is not played, and the user gets an answer.",
        line="barge_in",
        until="silent_command",
        order=(
            _taken("barge_in", state="speaking"),
            _taken("step_interrupted"),
            _taken("turn_committed"),
            _heard("Okay, I will stop talking."),
        ),
        never=(_heard("battery"), _RESUME),
    ),
    Expectation(
        name="noise_ignored",
        shows="A laugh during a silent step: no pause, no resume, no event, no new agent state.",
        line="noise",
        before=Mark("agent_state", new="speaking"),
        order=(_taken("user_started_speaking", state="thinking"), Mark("tool_started")),
        never=(
            *(_PAUSE, _RESUME, Mark(dest="paused"), Mark(dest="interrupted")),
            *(Mark("agent_false_interruption"), Mark("agent_state")),
        ),
    ),
    Expectation(
        name="silent_command",
        shows="A command without a preamble; its result is heard.",
        line="silent_command",
        order=(
            _taken("turn_committed"),
            Mark("tool", name="drive", text="done"),
            _heard("I am back at the dock."),
        ),
    ),
)
