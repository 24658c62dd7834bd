"""A client for yaml-language-server: the messages that an editor sends, over its pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["LanguageServer", "find_server"]

_SETTINGS = {
    "yaml": {"validate": True, "completion": True, "hover": True, "schemaStore": {"enable": False}},
    "http": {},
    "[yaml]": {},
    "editor": {},
    "files": {},
}


def find_server() -> str | None:
    """The command: $TURNFSM_YAML_LS, or what the path has."""
    if not shutil.which("node"):
        return None
    return os.environ.get("TURNFSM_YAML_LS") or shutil.which("yaml-language-server")


class LanguageServer:
    """A running server, with one file open at a time."""

    def __init__(self, command: str, folder: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [command, "--stdio"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self._next = 0
        self._folder = folder
        self._uri = ""
        self._diagnostics: list[dict[str, Any]] | None = None
        capabilities = {"workspace": {"configuration": True}, "textDocument": {"completion": {}}}
        self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities=capabilities)
        self._send(method="initialized", params={})

    def __enter__(self) -> LanguageServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.ask("shutdown")
        self._send(method="exit")
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(10)

    def open(self, text: str) -> list[dict[str, Any]]:
        """Open the text as the file and wait for what the server finds in it."""
        # A new name each time: what the server still says about the last file is not about this.
        self._next += 1
        self._uri = (self._folder / f"flow{self._next}.yaml").as_uri()
        document = {"uri": self._uri, "languageId": "yaml", "version": 1, "text": text}
        self._diagnostics = None
        self._send(method="textDocument/didOpen", params={"textDocument": document})
        while self._diagnostics is None:
            self._read()
        return self._diagnostics

    def close(self) -> None:
        """Close the file."""
        self._send(method="textDocument/didClose", params={"textDocument": {"uri": self._uri}})

    def completion(self, line: int, column: int) -> set[str]:
        """What is offered at a place, counted from 0."""
        place = {"line": line, "character": column}
        answer = self.ask(
            "textDocument/completion", textDocument={"uri": self._uri}, position=place
        )
        return {item["label"] for item in answer["items"]}

    def hover(self, line: int, column: int) -> str:
        """What is shown over a place, counted from 0."""
        place = {"line": line, "character": column}
        answer = self.ask("textDocument/hover", textDocument={"uri": self._uri}, position=place)
        return str(answer["contents"]["value"])

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and wait for its answer."""
        self._next += 1
        wanted = self._next
        self._send(id=wanted, method=method, params=params)
        while True:
            message = self._read()
            if message.get("id") == wanted and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        stream = self._process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline().strip()) or not length:
            assert line, "the language server has ended"
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(stream.read(length))
        self._answer(message)
        return message

    def _answer(self, message: dict[str, Any]) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            if message["params"]["uri"] == self._uri:
                self._diagnostics = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            result: Any = None
            if message["method"] == "workspace/configuration":
                items = message["params"]["items"]
                result = [_SETTINGS.get(item.get("section"), {}) for item in items]
            self._send(id=message["id"], result=result)
