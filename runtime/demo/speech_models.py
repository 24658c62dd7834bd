"""The user's own language model, instead of the scripted one."""

import asyncio
import contextlib
import os
from contextlib import AbstractContextManager
from typing import Any, Literal

import openai
from livekit.agents import APIConnectOptions, APIError, APIStatusError, inference, llm
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS, NOT_GIVEN, NotGivenOr
from livekit.agents.utils import is_given

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.runtime.testing.clock import VirtualLoop

__all__ = ["ModelUnavailable", "make_model", "probe_model"]

_OPENAI = "openai/"
_KEYS = ("LIVEKIT_API_KEY", "LIVEKIT_API_SECRET")
_PROBE = APIConnectOptions(max_retry=0, timeout=10.0)


class ModelUnavailable(TurnfsmError):
    """The model cannot be used: its name, its key or its server is wrong."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"error: {problem}\n  = help: {remedy}")


def make_model(name: str) -> llm.LLM[Any]:
    """The model with this name, with the keys of the environment.

    ``openai/...`` goes to OPENAI_BASE_URL, or to OpenAI, if OPENAI_API_KEY is set. Everything else
    goes to LiveKit's inference.
    """
    provider, _, model = name.partition("/")
    if not provider or not model:
        raise ModelUnavailable(
            f"{name!r} is not the name of a model",
            "name it as provider/model, such as openai/gpt-4.1",
        )
    if name.startswith(_OPENAI) and os.environ.get("OPENAI_API_KEY"):
        return _Waiting(_Compatible(model))
    missing = [key for key in _KEYS if not os.environ.get(key)]
    if missing:
        own = f"; or OPENAI_API_KEY for {name} itself" if name.startswith(_OPENAI) else ""
        raise ModelUnavailable(
            f"the model {name} needs a key: {' and '.join(missing)} not set in the environment",
            f"set LIVEKIT_API_KEY and LIVEKIT_API_SECRET for LiveKit's inference{own}",
        )
    return _Waiting(inference.LLM(name))


def probe_model(name: str) -> None:
    """Send a short request to the model. Raises ModelUnavailable if there is no answer."""
    try:
        asyncio.run(_first_word(make_model(name)))
    except APIError as error:
        raise ModelUnavailable(
            f"the model {name} does not answer: {_reason(error)}",
            "look at its name, its key and where it is reached (OPENAI_BASE_URL, "
            "LIVEKIT_INFERENCE_URL)",
        ) from error


async def _first_word(model: llm.LLM[Any]) -> None:
    context = llm.ChatContext.empty()
    context.add_message(role="user", content="Say yes.")
    try:
        async with model.chat(chat_ctx=context, conn_options=_PROBE) as stream:
            await anext(stream, None)
    finally:
        await model.aclose()


def _reason(error: APIError) -> str:
    if isinstance(error, APIStatusError):
        return f"status {error.status_code}, {error.message}"
    return str(error.__cause__ or error.message)


class _Compatible(llm.LLM[Literal["metrics_collected"]]):
    """A server that speaks OpenAI's chat completions; its address and key as OpenAI's client."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._name = model
        self._client = openai.AsyncClient(max_retries=0)

    @property
    def model(self) -> str:
        return self._name

    @property
    def provider(self) -> str:
        return str(self._client.base_url.host)

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[dict[str, Any]] = NOT_GIVEN,
    ) -> llm.LLMStream:
        options = dict(extra_kwargs) if is_given(extra_kwargs) else {}
        for key, value in (
            ("parallel_tool_calls", parallel_tool_calls),
            ("tool_choice", tool_choice),
        ):
            if is_given(value):
                options[key] = value
        return inference.LLMStream(
            self,
            model=self._name,
            strict_tool_schema=False,
            client=self._client,
            chat_ctx=chat_ctx,
            tools=tools or [],
            conn_options=conn_options,
            extra_kwargs=options,
        )

    async def aclose(self) -> None:
        await super().aclose()
        await self._client.close()


class _Waiting(llm.LLM[Literal["metrics_collected"]]):
    """A model that the virtual clock waits for: its answers take no virtual time."""

    def __init__(self, model: llm.LLM[Any]) -> None:
        super().__init__()
        self._inner = model

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def provider(self) -> str:
        return self._inner.provider

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        **options: Any,
    ) -> llm.LLMStream:
        return _WaitingStream(self, self._inner, chat_ctx, tools or [], conn_options, options)

    async def aclose(self) -> None:
        await super().aclose()
        await self._inner.aclose()


class _WaitingStream(llm.LLMStream):
    def __init__(
        self,
        outer: _Waiting,
        inner: llm.LLM[Any],
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool],
        conn_options: APIConnectOptions,
        options: dict[str, Any],
    ) -> None:
        super().__init__(outer, chat_ctx=chat_ctx, tools=tools, conn_options=conn_options)
        self._inner = inner
        self._options = options

    async def _run(self) -> None:
        once = APIConnectOptions(max_retry=0, timeout=self._conn_options.timeout)
        with _time_stands_still():
            async with self._inner.chat(
                chat_ctx=self._chat_ctx, tools=self._tools, conn_options=once, **self._options
            ) as stream:
                async for chunk in stream:
                    self._event_ch.send_nowait(chunk)


def _time_stands_still() -> AbstractContextManager[None]:
    loop = asyncio.get_running_loop()
    return loop.real_work() if isinstance(loop, VirtualLoop) else contextlib.nullcontext()
