"""Plays the conversation, writes the files, checks the result."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attrs import field, frozen
from rich.console import Console

from turnfsm.fsm import Flow, TurnfsmError, load_flow
from turnfsm.fsm.diagram import timeline
from turnfsm.fsm.journal import Journal, journal_of, read_journal
from turnfsm.runtime.cli._options import GOVERNED
from turnfsm.runtime.cli._streams import quiet_logs
from turnfsm.runtime.conversation.vocabulary import check_vocabulary
from turnfsm.runtime.journal import JsonlSink
from turnfsm.runtime.testing.clock import run as run_in_virtual_time
from turnfsm.runtime.view.journal_page import journal_page
from turnfsm.runtime.view.sound import read_sound

from .clock import run as run_in_patient_time
from .evidence import judge
from .folder import OutFolder
from .pace import Pace
from .recorder import Recorder
from .script import CONVERSATION, IGNORED, SOUNDS
from .take import Take
from .transcript import transcript
from .view import Lines

if TYPE_CHECKING:
    from .parts import Stack

__all__ = ["Settings", "demo"]

INTERRUPTED = 130

Hold: TypeAlias = Callable[[Flow, Take], Awaitable[None]]


@frozen
class Settings:
    """The settings of a run."""

    out: Path
    flow: str = "overlap"
    speed: float = 1.0
    text: bool = False
    host: Literal["livekit", "pipecat"] = "livekit"
    console: Console = field(factory=Console)


def demo(settings: Settings) -> int:
    """Play the conversation. Returns 0 if all checks pass, 1 if not, 130 if it was interrupted.

    Raises:
        TurnfsmError: The flow, the extra or the folder cannot be used.
    """
    flow = load_flow(settings.flow)
    check_vocabulary(flow, GOVERNED[settings.host])
    folder = OutFolder(settings.out)
    folder.open()
    try:
        return _Run(settings, flow, folder).play()
    finally:
        folder.close()


class _Run:
    """One run, from the loading of the models to the verdict."""

    def __init__(self, settings: Settings, flow: Flow, folder: OutFolder) -> None:
        self._settings = settings
        self._flow = flow
        self._folder = folder
        self._pace = Pace(settings.speed)
        self._unwritten: list[str] = []
        journal = JsonlSink(folder.partial / OutFolder.JOURNAL)
        self._take = Take(Recorder(self._pace, journal, Lines(settings.console, flow)))

    def play(self) -> int:
        with _log_kept(self._take.log):
            try:
                if self._settings.text:
                    run_in_virtual_time(self._main())
                else:
                    run_in_patient_time(self._main(), speed=self._settings.speed)
            except KeyboardInterrupt:
                return self._interrupted()
            finally:
                self._take.recorder.close()
        files = self._write()
        written = read_journal(self._folder.path / OutFolder.JOURNAL)
        results = judge(self._take, self._flow, written)
        self._say("")
        for result in results:
            self._say(str(result))
        self._list(files)
        if self._unwritten:
            raise TurnfsmError("\n".join(self._unwritten))
        return int(any(result.ok is False for result in results))

    def _interrupted(self) -> int:
        if self._take.records:
            self._say("interrupted: the recording so far was written")
            self._list(self._write())
        else:
            self._say("interrupted: nothing was recorded yet")
        return INTERRUPTED

    async def _main(self) -> None:
        stack, hold = await self._load()
        try:
            try:
                await hold(self._flow, self._take)
            finally:
                audible = self._leave(OutFolder.WAV, stack.write_audio)
            if audible:
                self._say("transcribing the agent's recorded voice")
                self._take.transcribed = await stack.transcribe_back()
        finally:
            await stack.aclose()

    async def _load(self) -> tuple[Stack, Hold]:
        kind, hold = self._host()
        if not self._settings.text:
            self._say("loading the models")
        # a flow that knows backchannels gets their transcripts
        ignored = SOUNDS if "backchannel" in self._flow.host_facts else IGNORED
        stack = await kind.load(self._pace, ignored)
        await stack.prepare(CONVERSATION)
        return stack, partial(hold, stack)

    def _host(self) -> tuple[type[Any], Callable[..., Awaitable[None]]]:
        """The components of the conversation, and the function that plays it."""
        if self._settings.host == "pipecat":
            with quiet_logs():
                from . import pipecat
            return (
                pipecat.TypedStack if self._settings.text else pipecat.PipelineStack,
                pipecat.hold,
            )
        from .on_livekit import hold

        if self._settings.text:
            from .text import TextStack

            return TextStack, hold
        from .stack import AudioStack

        return AudioStack, hold

    def _write(self) -> Sequence[Path]:
        """Write the files that are made from the journal, then publish the folder."""
        records = self._take.records
        self._leave(OutFolder.TRANSCRIPT, lambda p: p.write_bytes(transcript(records).encode()))
        if len(records) > 1:
            # not from the file, which contains no transcripts
            journal = journal_of(records)
            svg = timeline(journal, self._flow)
            self._leave(OutFolder.TIMELINE, lambda path: path.write_bytes(svg.encode()))
            self._leave(OutFolder.PAGE, lambda path: path.write_bytes(self._page(journal)))
        return self._folder.publish()

    def _page(self, journal: Journal) -> bytes:
        wav = self._folder.partial / OutFolder.WAV
        sound = read_sound(wav) if wav.is_file() else None
        title = "A typed conversation" if self._settings.text else "A spoken conversation"
        return journal_page(journal, self._flow, sound, title=title).encode()

    def _leave(self, name: str, write: Callable[[Path], object]) -> bool:
        """Write one of the files. If that fails, the file is left out, and named at the end."""
        path = self._folder.partial / name
        try:
            return bool(write(path))
        except OSError as error:
            path.unlink(missing_ok=True)
            self._unwritten.append(f"error: {self._folder.path / name}: {error.strerror}")
            return False

    def _list(self, files: Sequence[Path]) -> None:
        self._say("")
        for path in files:
            self._say(f"{path}  {path.stat().st_size / 1000:.0f} kB")
        if (page := self._folder.path / OutFolder.PAGE) in files:
            self._say(f"open {page} in a browser to see and hear it")

    def _say(self, text: str) -> None:
        self._settings.console.out(text, highlight=False)


class _Keeper(logging.Handler):
    """Collects warnings and errors for the checks, and keeps them off the terminal."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.append(f"{record.levelname} {record.name}: {self.format(record)}")


@contextlib.contextmanager
def _log_kept(log: list[str]) -> Iterator[None]:
    keeper, root = _Keeper(log), logging.getLogger()
    root.addHandler(keeper)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(keeper)
