"""Secrets are blotted out by value, once, before any sink sees a piece of the story."""

import dataclasses
from enum import Enum
from typing import Any, Protocol, TypeVar

from headway.control.telling import story

T = TypeVar("T")


class Blots(Protocol):
    """What knows the secret values: secrets.Redactor."""

    def text(self, text: str) -> str:
        """Give the text without secrets."""
        ...


def redacting(sink: story.Sink, blots: Blots) -> story.Sink:
    """Wrap a sink so that no text it is told holds a secret."""
    return lambda told: sink(redacted(told, blots))


def redacted(value: T, blots: Blots) -> T:
    """Give an equal value whose texts hold no secret, however deep they lie."""
    clean: T = _clean(value, blots)
    return clean


def _clean(value: Any, blots: Blots) -> Any:  # noqa: ANN401 # whatever a dataclass holds
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return _shown(blots.text(value))
    if isinstance(value, (tuple, list)):
        return type(value)(_clean(item, blots) for item in value)
    if isinstance(value, dict):
        return {_clean(key, blots): _clean(item, blots) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value,
            **{
                field.name: _clean(getattr(value, field.name), blots)
                for field in dataclasses.fields(value)
            },
        )
    return value


def _shown(text: str) -> str:
    """Give text that every sink can write: a host's file name may be no UTF-8."""
    return text.encode(errors="backslashreplace").decode()
