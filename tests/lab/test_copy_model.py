"""The copy model is the same bytes each time, and its words are whole tokens."""

from pathlib import Path

from tests.lab import copy_model


def test_the_model_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    """Its hash names the lab's cache and, in tests, a pinned file of weights."""
    for name in ("one", "two"):
        copy_model.write(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_every_word_is_one_token_and_every_byte_another() -> None:
    """Three tokens before the marker are then three words, which filler does not repeat."""
    tokens, merges = copy_model.vocabulary()
    assert len(set(tokens)) == len(tokens)
    assert {f"Ġ{word}" for word in copy_model.WORDS} <= set(tokens)
    assert len(tokens) == 2 + 256 + len(merges)
