"""The runtime of a conversation's turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.fsm.errors import near, quoted
from turnfsm.fsm.expect import KINDS, Expectation, Kind, Schema, expected_of, problems_of
from turnfsm.runtime.arguments import check_count
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.turn import TurnRuntime

from .expecting import Expecting

__all__ = ["SessionTurn"]


class SessionTurn(TurnRuntime):
    """A `TurnRuntime` with `expect`, which sets what a question asks for.

    Args:
        flow: The flow.
        host: Has a method for every action and every host fact.
        expecting: What the user is asked for.
        parameters: The JSON schemas of the parameters of a tool that the agent has; None if it has
            no such tool.
        timers: Seconds that replace those of the flow.
        sinks: Each gets every record of the journal.
    """

    __slots__ = ("_expecting", "_parameters")

    def __init__(
        self,
        flow: Flow,
        host: object,
        expecting: Expecting,
        parameters: Callable[[str], Mapping[str, Schema] | None],
        *,
        timers: Mapping[str, float],
        sinks: Iterable[Sink],
    ) -> None:
        super().__init__(flow, host, timers=timers, sinks=sinks)
        self._expecting, self._parameters = expecting, parameters

    def expect(
        self,
        kind: Kind,
        *,
        length: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        pattern: str | None = None,
        wait: float = 4.0,
    ) -> None:
        """Set what the next question asks for. It applies until the agent has replied to the user's
        answer.

        The user's turn ends at once when the value is complete, and waits while a part is missing.
        This overrides what the flow expects.

        Args:
            kind: Such as ``"digits"``, ``"phone"`` or ``"yes_no"``. ``"open"``: anything.
            length: How many digits, letters or signs it has.
            at_least, at_most: A range, instead of `length`.
            pattern: A regular expression, for the kind ``"pattern"``.
            wait: Seconds of silence after which the turn ends although a part is missing.

        Raises:
            TurnfsmError: The arguments are invalid. The message says what to write.

        Example::

            @function_tool
            async def ask_for_the_number(self) -> str:
                self.session.turn.expect("digits", length=10)
                return "Ask for the account number."
        """
        if kind not in KINDS:
            raise TurnfsmError(f"there is no kind {quoted(kind)}; {near(kind, KINDS)}")
        for name, value in {"length": length, "at_least": at_least, "at_most": at_most}.items():
            if value is not None:
                check_count(name, value, 10)
        self._ask(Expectation(kind, length, at_least, at_most, pattern, wait))

    def expect_parameter(self, tool: str, parameter: str, *, wait: float = 4.0) -> None:
        """Expect the value of a tool's parameter as the next answer. Otherwise like `expect`.

        The parameter's JSON schema says what to expect: a `pattern` of digits, any `pattern` with
        `maxLength`, the `format` email, date or phone, or the type boolean.

        Args:
            tool: The name of a tool of the active agent.
            parameter: The name of the parameter.
            wait: Seconds of silence after which the turn ends although a part is missing.

        Raises:
            TurnfsmError: There is no such tool or parameter, or its schema says too little.

        Example::

            session.turn.expect_parameter("transfer", "account")
        """
        parameters = self._parameters(tool)
        if parameters is None:
            raise TurnfsmError(f"the active agent has no tool {quoted(tool)}")
        if parameter not in parameters:
            remedy = near(parameter, parameters)
            raise TurnfsmError(f"{tool} has no parameter {quoted(parameter)}; {remedy}")
        question = expected_of(parameters[parameter], wait)
        if question is None:
            raise TurnfsmError(
                f"the schema of {quoted(parameter)} does not say how long a value is; give it a "
                "'pattern' with a length, or call expect() with a kind"
            )
        self._ask(question)

    def _ask(self, question: Expectation) -> None:
        for problem in problems_of(question):
            raise TurnfsmError(f"{problem.message}; {problem.remedy}")
        self._expecting.ask(question)
