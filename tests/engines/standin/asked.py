"""A request for a completion or a chat, as far as the stand-in heeds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAID = 4096  # tokens of a chat without a limit of its own
_COMPLETED = 16  # what OpenAI's API and vLLM take where max_tokens is left out


@dataclass(frozen=True)
class Asked:
    """What is wanted. `text` is what the model answers to, `prompt` is all that it reads.

    `tool` is the function's declaration that must be called; {} is none. `images` are data URLs.
    """

    chat: bool
    model: str
    text: str
    prompt: str
    numbers: tuple[int, ...] = ()
    max_tokens: int = _COMPLETED
    stream: bool = False
    with_usage: bool = False
    ignore_eos: bool = False
    thinking: bool = True
    stop: tuple[str, ...] = ()
    salt: str = ""
    cache: bool = True
    tool: dict[str, Any] = field(default_factory=dict)
    images: tuple[str, ...] = ()


def asked_of(body: Mapping[str, Any], *, chat: bool) -> Asked:
    """Read a request's body; raises LookupError, TypeError or ValueError on one that is none."""
    options = body.get("stream_options") or {}
    stop = body.get("stop") or ()
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or body.get("n_predict")
    own = _chat(body) if chat else _prompt(body["prompt"])
    return Asked(
        chat=chat,
        model=str(body.get("model", "")),
        max_tokens=int(limit or (_SAID if chat else _COMPLETED)),
        stream=bool(body.get("stream")),
        with_usage=bool(options.get("include_usage")),
        ignore_eos=bool(body.get("ignore_eos")),
        thinking=bool((body.get("chat_template_kwargs") or {}).get("enable_thinking", True)),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        salt=str(body.get("cache_salt", "")),
        cache=bool(body.get("cache_prompt", True)),
        **own,
    )


def templated(messages: list[Any]) -> str:
    """Write messages as the chat template does."""
    said = ((str(one["role"]), _content(one.get("content"))[0]) for one in messages)
    turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in said]
    return "".join((*turns, "<|im_start|>assistant\n"))


def _prompt(prompt: Any) -> dict[str, Any]:
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, list):
        return {"text": "", "prompt": "", "numbers": tuple(int(one) for one in prompt)}
    return {"text": str(prompt), "prompt": str(prompt)}


def _chat(body: Mapping[str, Any]) -> dict[str, Any]:
    messages = body["messages"]
    said = [_content(one.get("content")) for one in messages]
    return {
        "text": said[-1][0],
        "prompt": templated(body["messages"]),
        "tool": _tool(body),
        "images": tuple(url for _, urls in said for url in urls),
    }


def _content(content: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(content, list):
        return str(content or ""), ()
    texts = [str(part.get("text", "")) for part in content if part.get("type") == "text"]
    urls = [str(one["image_url"]["url"]) for one in content if one.get("type") == "image_url"]
    return "\n".join(texts), tuple(urls)


def _tool(body: Mapping[str, Any]) -> dict[str, Any]:
    tools = [one["function"] for one in body.get("tools") or ()]
    choice = body.get("tool_choice", "auto")
    if choice == "none" or not tools:
        return {}
    if isinstance(choice, dict):
        named = choice["function"]["name"]
        return next((one for one in tools if one["name"] == named), {})
    return dict(tools[0])
