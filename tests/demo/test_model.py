"""A language model of the user's own: a real server on this machine, and what bad names get."""

import io
import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from rich.console import Console

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.cli import main as command
from turnfsm.runtime.demo.main import Settings, demo

KEYS = ("LIVEKIT_API_KEY", "LIVEKIT_API_SECRET", "OPENAI_API_KEY", "OPENAI_BASE_URL")


class Completions(BaseHTTPRequestHandler):
    """OpenAI's chat completions, streamed, by a model that knows two commands."""

    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append(asked)
        if asked["model"] != "clerk":
            self.refuse(404, "The model does not exist")
        elif self.headers["authorization"] != "Bearer secret":
            self.refuse(401, "Incorrect API key provided")
        else:
            self.stream(reply(asked["messages"]))

    def refuse(self, status: int, message: str) -> None:
        self.answer(status, "application/json", json.dumps({"error": {"message": message}}))

    def stream(self, delta: Mapping[str, Any]) -> None:
        made = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "clerk"}
        last = "tool_calls" if "tool_calls" in delta else "stop"
        chunks = [
            {**made, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**made, "choices": [{"index": 0, "delta": {}, "finish_reason": last}]},
        ]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self.answer(200, "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]))

    def answer(self, status: int, kind: str, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the terminal clean."""


def reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Drives when told to, tells the result of a tool, and is short about all else."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"role": "assistant", "content": f"Done: {last['content']}"}
    meters = 10 if "forward" in last["content"] else -10 if "back" in last["content"] else 0
    if not meters:
        return {"role": "assistant", "content": "I heard you."}
    function = {"name": "drive", "arguments": json.dumps({"meters": meters})}
    call = {"index": 0, "id": f"call_{len(messages)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Completions]]:
    """The server, where OpenAI's client looks for it."""
    handler = type("Handler", (Completions,), {"requests": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{listening.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        try:
            yield handler
        finally:
            listening.shutdown()
            thread.join()


def typed(out: Path, llm: str) -> tuple[int, str]:
    """Run the typed conversation with a model: exit status and what was printed."""
    printed = io.StringIO()
    status = demo(Settings(out=out, text=True, llm=llm, console=Console(file=printed, width=200)))
    return status, printed.getvalue()


def test_model_of_the_user_holds_the_conversation(
    server: type[Completions], tmp_path: Path
) -> None:
    """Its own words and calls, under the same flow, held to what the flow promises."""
    status, printed = typed(tmp_path / "out", "openai/clerk")
    assert status == 0, printed
    told = (tmp_path / "out" / "transcript.txt").read_text()
    assert "tool   drive(meters=10): done" in told
    assert "agent  Done: I have reached the place." in told
    assert "agent  I heard you." in told
    assert "skip  preamble_heard" in printed
    assert "ok    calls_once           drive(meters=10), drive(meters=-10): 2 runs" in printed
    tools = [tool["function"]["name"] for tool in server.requests[-1]["tools"]]
    assert tools == ["drive", "find_parcel"]


@pytest.mark.parametrize(
    ("model", "key", "message"),
    [
        ("openai/clark", "secret", "status 404(.|\n)*The model does not exist"),
        ("openai/clerk", "stolen", "status 401(.|\n)*Incorrect API key"),
    ],
)
def test_a_server_that_refuses_is_reported(
    model: str,
    key: str,
    message: str,
    server: type[Completions],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unknown model or a wrong key is found out before anything is written."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(TurnfsmError, match=message):
        typed(tmp_path / "out", model)
    assert len(server.requests) == 1
    assert not (tmp_path / "out").exists()


def test_a_missing_server_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody listens there is one error, and where to look."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with pytest.raises(TurnfsmError, match=r"does not answer(.|\n)*OPENAI_BASE_URL"):
        typed(tmp_path / "out", "openai/clerk")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "keys", "message"),
    [
        ("openai/gpt-4.1", {}, r"LIVEKIT_API_KEY and LIVEKIT_API_SECRET(.|\n)*OPENAI_API_KEY"),
        ("google/gemini", {"LIVEKIT_API_KEY": "k"}, r"needs a key: LIVEKIT_API_SECRET not set"),
        ("gpt", {"LIVEKIT_API_KEY": "k", "LIVEKIT_API_SECRET": "s"}, "name it as provider/model"),
    ],
)
def test_a_model_without_its_key_names_the_variables(
    model: str,
    keys: dict[str, str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model of the user's own needs his key; the error names the variables."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(TurnfsmError, match=message):
        typed(tmp_path / "out", model)
    assert not (tmp_path / "out").exists()


def test_the_command_reports_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`turnfsm demo --llm` without a key: status 2, one message, its remedy."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SystemExit) as ended:
        command(["demo", "--text", "--llm", "openai/gpt-4.1", "--out", str(tmp_path / "out")])
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert told.out == ""
    assert told.err.count("error: ") == told.err.count("= help: ") == 1
