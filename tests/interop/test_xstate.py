"""A flow and its XState machine, driven by the real xstate on Node in virtual time."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from strategies import flows
from walks import walk

from turnfsm.fsm import Flow, FlowError, Machine, load_flow, shipped_flows
from turnfsm.fsm.interop.xstate import to_xstate, xstate_module

ROOT = Path(__file__).parents[2]

RUNNER = """
import { createActor } from "xstate";
// SimulatedClock lets timers that are set while it advances start at the end of the advance.
class Clock {
  now = 0; last = 0; due = new Map();
  setTimeout(call, ms) { this.due.set(++this.last, [this.now + ms, call]); return this.last; }
  clearTimeout(id) { this.due.delete(id); }
  advance(ms) {
    for (const end = this.now + ms; ; ) {
      const [id, first] = [...this.due].sort((a, b) => a[1][0] - b[1][0])[0] ?? [];
      if (!first || first[0] > end) { this.now = end; return; }
      this.due.delete(id); this.now = first[0]; first[1]();
    }
  }
}
const { flows } = JSON.parse(await new Response(process.stdin).text());
const answers = [];
for (const { module, walks } of flows) {
  const { machine } = await import(module);
  for (const walk of walks) {
    const clock = new Clock();
    const actor = createActor(machine, { clock }).start();
    answers.push(walk.map((post) => {
      if (post.seconds) clock.advance(Math.round(post.seconds * 1000));
      if (post.host_facts) actor.send({ type: "turnfsm.set_host_facts", facts: post.host_facts });
      if (post.trigger) actor.send({ type: post.trigger, of: post.of });
      const { value, context } = actor.getSnapshot();
      return [value, Object.keys(context.facts).filter((fact) => context.facts[fact]).sort()];
    }));
  }
}
console.log(JSON.stringify(answers));
"""


def _modules() -> Path | None:
    """The folder that holds xstate: named by NODE_PATH, in the checkout, or npm's global one."""
    places = [*os.environ.get("NODE_PATH", "").split(os.pathsep), ROOT / "node_modules"]
    if npm := shutil.which("npm"):
        asked = subprocess.run([npm, "root", "-g"], capture_output=True, text=True, check=False)
        places.append(asked.stdout.strip())
    folders = (Path(place) for place in places if place)
    return next((folder for folder in folders if (folder / "xstate").is_dir()), None)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which Node finds xstate."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed; apt-get install nodejs npm")
    modules = _modules()
    if modules is None:
        pytest.skip("xstate is not installed; npm install xstate@5, or set NODE_PATH")
    folder = tmp_path_factory.mktemp("xstate")
    (folder / "node_modules").symlink_to(modules)
    return folder


@attrs.frozen
class Post:
    """What happens at one moment: time passes, the host answers, a trigger comes."""

    seconds: float
    host_facts: dict[str, bool]
    trigger: str | None
    of: int | None


class _Clock:
    """Our machine and its timers, as the event pump has them."""

    def __init__(self, flow: Flow) -> None:
        self.machine, self.now = Machine(flow), 0
        self.seconds = {name: round(s * 1000) for name, s in flow.timers.items()}
        self.due: dict[str, int] = {}
        self.late: list[str] = []
        self._arm()

    def _arm(self) -> None:
        self.due = {name: self.now + self.seconds[name] for name in self.machine.timers}
        self.late = []

    def post(self, trigger: str, of: int | None = None) -> None:
        self._step(trigger, of)
        self._take_late()

    def _step(self, trigger: str, of: int | None = None) -> None:
        timer = trigger in self.due
        verdict = self.machine.step(trigger, of)
        if verdict and verdict.entered:
            self._arm()
            return
        for name in (*verdict.restarts, *((trigger,) if timer else ())):
            self.due[name] = self.now + self.seconds[name]
            self.late = [other for other in self.late if other != name]
        if timer and not verdict:
            self.late.append(trigger)

    def _take_late(self) -> None:
        while True:
            taken = [name for name in self.machine.timers if name in self.late]
            first = next((name for name in taken if self.machine.ask(name)), None)
            if first is None:
                return
            self._step(first)

    def advance(self, seconds: float) -> None:
        end = self.now + round(seconds * 1000)
        while self.due and (first := min(self.due.items(), key=lambda item: item[1]))[1] <= end:
            self.now = first[1]
            self.post(first[0])
        self.now = end

    def answer(self, post: Post) -> list[Any]:
        self.advance(post.seconds)
        self.machine.set_host_facts(post.host_facts)
        self._take_late()  # the host has told it
        if post.trigger:
            self.post(post.trigger, post.of)
        return [self.machine.state, sorted(self.machine.program.names(self.machine.facts))]

    def differs(self, post: Post, theirs: list[Any]) -> bool:
        """After a final state XState's actor hears nothing, not even what the host answers."""
        ours = self.answer(post)
        host_facts = {*self.machine.program.flow.host_facts} if self.machine.final else set()
        return ours[0] != theirs[0] or {*ours[1]} - host_facts != {*theirs[1]} - host_facts


def _timed(flow: Flow) -> Flow:
    """The flow with timers that never end at the same moment: XState does not order those."""
    primes = (
        1009, 2003, 3001, 5003, 7001, 11003, 13001, 17011, 19001, 23003, 29009, 31013, 37003, 41011,
    )  # fmt: skip
    assert len(flow.timers) <= len(primes)
    seconds = (prime / 1000 for prime in primes)
    return attrs.evolve(flow, timers=dict(zip(flow.timers, seconds, strict=False)))


def _walks(flow: Flow, seed: int, count: int, most: int) -> list[list[Post]]:
    rng = random.Random(seed)
    return [_walk(flow, rng, most) for _ in range(count)]


def _walk(flow: Flow, rng: random.Random, most: int) -> list[Post]:
    numbers = [
        (rng.randrange(999), rng.choice([0, 1, 1, 2]), rng.randrange(256)) for _ in range(most)
    ]
    return [
        Post(
            rng.choice([0, 0, 0, 0.5, 1.5, 4.0, 30.0]),
            dict(post.host_facts),
            None if post.trigger in flow.timers else post.trigger,
            post.of,
        )
        for post in walk(flow, numbers)
    ]


def _run(node: Path, flows_: list[tuple[Flow, list[list[Post]]]]) -> list[Any]:
    asked = []
    for index, (flow, walks) in enumerate(flows_):
        module = node / f"flow{index}.mjs"
        module.write_text(xstate_module(flow), encoding="utf-8")
        posts = [[attrs.asdict(post) for post in walk] for walk in walks]
        asked.append({"module": module.as_uri(), "walks": posts})
    (node / "run.mjs").write_text(RUNNER, encoding="utf-8")
    done = subprocess.run(
        ["node", "run.mjs"], cwd=node, input=json.dumps({"flows": asked}), capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _compare(node: Path, flows_: list[tuple[Flow, list[list[Post]]]]) -> Counter[str]:
    """Both go through the same configurations; gives how often each flow changed its state."""
    answers = iter(_run(node, flows_))
    moved = Counter[str]()
    for flow, walks in flows_:
        for posts in walks:
            ours, theirs = _Clock(flow), next(answers)
            for at, (post, answer) in enumerate(zip(posts, theirs, strict=True)):
                before = ours.machine.state
                assert not ours.differs(post, answer), (flow.name, posts[: at + 1], answer)
                moved[flow.name] += before != ours.machine.state
    return moved


def test_shipped_flows_agree_with_xstate(node: Path) -> None:
    """XState holds the same state and facts after every trigger and every timer of 60 walks."""
    flows_ = [flow for flow in map(load_flow, sorted(shipped_flows())) if not flow.lasting]
    moved = _compare(node, [(flow, _walks(flow, 1, 60, 50)) for flow in map(_timed, flows_)])
    assert all(times > 100 for times in moved.values()), moved


def test_random_flows_agree_with_xstate(node: Path) -> None:
    """The same holds for random flows: guards, fences, re-entry, internal and guarded timers."""
    found: list[tuple[Flow, list[list[Post]]]] = []

    @settings(
        max_examples=60, derandomize=True, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(flows(properties=False))
    def draw(flow: Flow) -> None:
        timed = _timed(flow)
        found.append((timed, _walks(timed, len(found), 4, 25)))

    draw()
    assert _compare(node, found).total() > 100


def test_the_config_is_plain_data() -> None:
    """The configuration survives JSON, and re-entry is said where a state leads to itself."""
    config = to_xstate(load_flow("turn"))
    assert json.loads(json.dumps(config))["initial"] == "listening"
    again = config["states"]["thinking"]["on"]["step_started"][0]
    assert (again["target"], again["reenter"]) == ("thinking", True)


def test_a_state_that_reads_as_a_path_is_refused() -> None:
    """XState would look for a child; the flow's author is told before."""
    flow = load_flow("turn")
    states = {"a.b": flow.states["listening"]}
    with pytest.raises(FlowError, match=r"state 'a\.b' is a path for XState; rename it"):
        to_xstate(attrs.evolve(flow, states=states, initial="a.b"))
