"""LiveKit's own examples, with a scripted model: their agents, tools and data are LiveKit's.

Their tests need a real model. Here the model is scripted, and the conversations follow those tests.
"""

from __future__ import annotations

import datetime
import importlib
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
from livekit.agents import Agent, llm
from livekit.agents.beta.workflows import TaskGroup

from turnfsm.testing import Call, Reply, Request, ScriptedLLM

__all__ = ["EXAMPLES", "Cast", "Example", "Model", "loaded"]

Rule = Reply | str | Callable[[Request], Reply]


@attrs.frozen
class Cast:
    """What a session begins with.

    Attributes:
        agent: The first agent.
        userdata: What the example keeps in the session.
        effects: What its tools have done so far, as data.
    """

    agent: Agent
    userdata: Any
    effects: Callable[[], Any]


@attrs.frozen(eq=False)
class Example:
    """A conversation with an agent of an example.

    Attributes:
        name: What it is.
        folder: The folder in LiveKit's `examples`.
        make: Makes the cast from the example's module.
        says: What the user says, each when the agent has finished. What begins with "yes" is said
            by voice only: as text LiveKit's tasks take an address without a confirmation.
        user: What the model answers to them, and to instructions of the agent.
        tools: What it answers to the results of tools.
        needs: What the effects must have at the end, so that nothing is compared to nothing.
    """

    name: str
    folder: str
    make: Callable[[Any], Awaitable[Cast]]
    says: tuple[str, ...]
    user: Mapping[str, Rule]
    tools: Mapping[str, Rule]
    needs: tuple[str, ...]


class Model(ScriptedLLM):
    """A model that does what instructions say which come after the user's last words."""

    def __init__(self, example: Example) -> None:
        super().__init__(example.user, example.tools, believes=False)

    def ask(self, chat_ctx: llm.ChatContext, *args: Any, **how: Any) -> tuple[Request, Reply]:
        """As `ScriptedLLM.ask`."""
        if (instructions := self._instructions(chat_ctx)) is not None:
            rest = [item for item in chat_ctx.items if item is not instructions]
            last = instructions.model_copy(update={"role": "developer"})
            chat_ctx = llm.ChatContext([*rest, last])
        return super().ask(chat_ctx, *args, **how)

    def _instructions(self, chat_ctx: llm.ChatContext) -> llm.ChatMessage | None:
        for item in reversed(chat_ctx.items):
            if item.type != "message" or item.role == "assistant":
                continue
            if item.role == "user":
                return None
            text = (item.text_content or "").lower()
            if any(key.lower() in text for key in self.on_user):
                return item
        return None


@contextmanager
def loaded(folder: Path) -> Iterator[ModuleType]:
    """The module `agent` of an example. It imports its neighbours by their bare names."""
    neighbours = {path.stem for path in folder.glob("*.py")}
    hidden = {name: sys.modules.pop(name) for name in neighbours & sys.modules.keys()}
    path = list(sys.path)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module("agent")
    finally:
        sys.path[:] = path
        for name in neighbours:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


def _results(request: Request) -> list[str]:
    return [entry.text for entry in request.shown if entry.kind == "result"]


def _asked(request: Request) -> str:
    """What the user has said last."""
    return [entry.text for entry in request.shown if entry.kind == "user"][-1]


# -- drive_thru


def _item(id: str, size: str = "null") -> Call:
    return Call("order_regular_item", {"item_id": id, "size": size})


async def _drive_thru(module: Any) -> Cast:
    userdata = await module.new_userdata()

    def effects() -> Any:
        items = [item.model_dump(exclude={"order_id"}) for item in userdata.order.items.values()]
        return sorted(json.dumps(item) for item in items)

    return Cast(module.DriveThruAgent(userdata=userdata), userdata, effects)


def _one_after_the_other(request: Request) -> Reply:
    """Two of the same: the model makes the second call when it has the first result."""
    if _asked(request) == TWO and len(_results(request)[-1]) and not _twice(request):
        return Reply(calls=_item("mayonnaise"))
    return Reply("It is on your order.")


def _twice(request: Request) -> bool:
    calls = [entry.text for entry in request.shown if entry.kind == "call"]
    return sum("mayonnaise" in call for call in calls if "combo" not in call) >= 2


def _remove_big_mac(request: Request) -> Reply:
    if "remove" not in _asked(request):
        return Reply("You have all of that.")
    listed = _results(request)[-1].splitlines()
    found = [json.loads(line)["order_id"] for line in listed if "big_mac" in line]
    return Reply(calls=Call("remove_order_item", {"order_id": found}))


TWO = "can I get two mayonnaise sauces"
DRIVE_THRU = Example(
    "drive_thru",
    "drive_thru",
    _drive_thru,
    (
        "can I get a Big Mac, no meal",
        TWO,
        "a large combo McCrispy with a large coke and ketchup",
        "can I get a fanta",
        "a small one",
        "a ketchup and a McFlurry Oreo",
        "what do I have",
        "please remove the Big Mac",
    ),
    {
        "Big Mac, no meal": Reply("Sure.", _item("big_mac")),
        TWO: Reply(calls=_item("mayonnaise")),
        "combo McCrispy": Reply(
            "One moment.",
            Call(
                "order_combo_meal",
                {
                    "meal_id": "combo_mccrispy_4a",
                    "drink_id": "coca_cola",
                    "drink_size": "L",
                    "fries_size": "L",
                    "sauce_id": "ketchup",
                },
            ),
        ),
        "a fanta": Reply(calls=_item("fanta_orange")),
        "a small one": Reply(calls=_item("fanta_orange", "S")),
        "a McFlurry": Reply("Both.", (_item("ketchup"), _item("sweet_mcflurry_oreo"))),
        "what do I have": Reply(calls=Call("list_order_items")),
        "remove": Reply("Let me see.", Call("list_order_items")),
    },
    {
        "order_regular_item": _one_after_the_other,
        "order_combo_meal": "A large McCrispy menu.",
        "list_order_items": _remove_big_mac,
        "remove_order_item": "It is gone.",
    },
    ("mayonnaise", "combo_mccrispy_4a", "fanta_orange", "sweet_mcflurry_oreo"),
)


# -- frontdesk

NOW = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.UTC)
TOMORROW = NOW + datetime.timedelta(days=1)


async def _front_desk(module: Any) -> Cast:
    slot = module.AvailableSlot
    slots = [slot(start_time=TOMORROW.replace(hour=hour), duration_min=30) for hour in (11, 14, 15)]
    calendar = module.FakeCalendar(timezone="UTC", slots=slots, now=NOW)

    def effects() -> Any:
        booked = calendar.scheduled_appointments
        return [f"{each.slot.start_time:%H:%M} {each.attendee_email}" for each in booked]

    agent = module.FrontDeskAgent(timezone="UTC", now=lambda: NOW)
    return Cast(agent, module.Userdata(cal=calendar), effects)


def _at_two(request: Request) -> Reply:
    lines = "\n".join(_results(request)).splitlines()
    slot = next(line.split()[0] for line in lines if " 14:00 " in line)
    return Reply("Gladly.", Call("schedule_appointment", {"slot_id": slot}))


FRONT_DESK = Example(
    "frontdesk",
    "frontdesk",
    _front_desk,
    (
        "can I get an appointment tomorrow",
        "two in the afternoon sounds good",
        "my email address is theo at livekit dot io",
        "yes it is valid",
        "thank you",
    ),
    {
        "welcome to the caller": "Hello, when would you like to come?",
        "appointment tomorrow": Reply("Let me look.", Call("get_current_time")),
        "two in the afternoon": _at_two,
        "Ask the user for their email": "What is your email address?",
        "theo at livekit": Reply(calls=Call("update_email_address", {"email": "theo@livekit.io"})),
        "it is valid": Reply(calls=Call("confirm_email_address")),
        "thank you": "See you then.",
    },
    {
        "get_current_time": Reply(calls=Call("list_available_slots", {"range": "default"})),
        "list_available_slots": "At eleven, at two or at three?",
        "update_email_address": "Theo at livekit dot io, is that right?",
        "schedule_appointment": "You are booked for tomorrow at two.",
    },
    ("14:00 theo@livekit.io",),
)


# -- survey


class Survey(Agent):
    """The example's agent without the summary of the conversation, as in LiveKit's tests."""

    def __init__(self, module: Any) -> None:
        super().__init__(instructions="You are a survey agent screening candidates.")
        self._module = module

    async def on_enter(self) -> None:
        group = TaskGroup(summarize_chat_ctx=False)
        for name in (
            "IntroTask",
            "GetEmailTask",
            "CommuteTask",
            "ExperienceTask",
            "BehavioralTask",
        ):
            group.add(getattr(self._module, name), id=name, description=name)
        self.session.userdata.task_results = (await group).task_results
        await self.session.generate_reply(instructions="The interview is now complete")


async def _survey(module: Any) -> Cast:
    userdata = module.Userdata(filename="", candidate_name="", task_results={})

    def effects() -> Any:
        results = {key: str(value) for key, value in userdata.task_results.items()}
        return {"name": userdata.candidate_name, "results": results}

    return Cast(Survey(module), userdata, effects)


SURVEY = Example(
    "survey",
    "survey",
    _survey,
    (
        "I am Bob and I build backends",
        "my address is bob at example dot com",
        "yes that address is right",
        "I can come by subway",
        "I have worked for eight years at Acme",
        "my strength is debugging",
        "my weakness is naming things",
        "I like to work in a team",
        "goodbye",
    ),
    {
        "Welcome the candidate": "Welcome, who are you?",
        "I am Bob": Reply(
            calls=Call("record_intro", {"name": "Bob", "intro_notes": "builds backends"})
        ),
        "Ask the user for their email": "What is your email address?",
        "bob at example": Reply(calls=Call("update_email_address", {"email": "bob@example.com"})),
        "that address is right": Reply(calls=Call("confirm_email_address")),
        "commute flexibility": "Can you come to the office?",
        "by subway": Reply(
            calls=Call(
                "record_commute_flexibility", {"can_commute": True, "commute_method": "subway"}
            )
        ),
        "work experience": "What have you done so far?",
        "eight years": Reply(
            calls=Call(
                "record_experience", {"years_of_experience": 8, "experience_description": "Acme"}
            )
        ),
        "incrementally gather": "What are you good at?",
        "strength is": Reply(calls=Call("record_strengths", {"strengths_summary": "debugging"})),
        "weakness is": Reply(calls=Call("record_weaknesses", {"weaknesses_summary": "naming"})),
        "in a team": Reply(calls=Call("record_work_style", {"work_style": "team_player"})),
        "Continue incrementally": "And what else?",
        "The interview is now complete": "Thank you, you will hear from us.",
        "goodbye": "Goodbye.",
    },
    {"update_email_address": "Bob at example dot com, is that right?"},
    ("bob@example.com", "team_player", "subway", "Acme"),
)


# -- healthcare


async def _healthcare(module: Any) -> Cast:
    database = module.FakeDatabase()
    userdata = module.UserData(database=database, profile=None)

    def effects() -> Any:
        records = {record["name"]: record for record in database.patient_records}
        made = [
            f"{each['doctor_name']}: {each['visit_reason']}"
            for each in records["Mary Jane"].get("appointments", [])
        ]
        free = {doctor["name"]: len(doctor["availability"]) for doctor in database.doctor_records}
        return {"made": made, "free": free}

    return Cast(module.HealthcareAgent(database=database), userdata, effects)


def _first_time(_: Request) -> Reply:
    day = datetime.date.today() + datetime.timedelta(days=1)
    time = datetime.datetime.combine(day, datetime.time(10, 0)).isoformat()
    return Reply(calls=Call("schedule_appointment", {"appointment_time": time}))


HEALTHCARE = Example(
    "healthcare",
    "healthcare",
    _healthcare,
    (
        "I would like to see a doctor",
        "my name is Mary Jane",
        "yes that is my name",
        "I was born on the tenth of June 2001",
        "yes that is my birthday",
        "I would like doctor Hyde",
        "the first time please",
        "I have a cough",
        "thank you",
    ),
    {
        "Warmly welcome": "Welcome to the clinic, how can I help you?",
        "Get the user's name": "What is your name?",
        "provide their date of birth": "When were you born?",
        "an existing profile": "I have found you.",
        "doctors compatible": "Doctor Jekyll or doctor Hyde?",
        "which time slot": "When would you like to come?",
        "the reason for their visit": "What is it about?",
        "see a doctor": Reply("Gladly.", Call("schedule_appointment")),
        "name is Mary": Reply(
            calls=Call("update_name", {"first_name": "Mary", "last_name": "Jane"})
        ),
        "that is my name": Reply(calls=Call("confirm_name")),
        "born on": Reply(calls=Call("update_dob", {"year": 2001, "month": 6, "day": 10})),
        "that is my birthday": Reply(calls=Call("confirm_dob")),
        "doctor Hyde": Reply(
            calls=Call("confirm_doctor_selection", {"selected_doctor": "Dr. Edward Hyde"})
        ),
        "the first time": _first_time,
        "a cough": Reply(calls=Call("confirm_visit_reason", {"visit_reason": "a cough"})),
        "thank you": "Get well soon.",
    },
    {
        "update_name": "Mary Jane, is that right?",
        "update_dob": "The tenth of June 2001, is that right?",
        "schedule_appointment": "It is made. Anything else?",
    },
    ("Dr. Edward Hyde: a cough",),
)

EXAMPLES = (DRIVE_THRU, FRONT_DESK, SURVEY, HEALTHCARE)
