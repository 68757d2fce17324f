"""Prompts are real text of a wished length, fresh, and their markers can be read nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.tables import CHECKS, check

prompts = check("asking.prompts")


@pytest.mark.parametrize("name", ["code", "prose"])
def test_a_text_is_real_and_its_source_is_named(name: str) -> None:
    """Tens of kB of ASCII; its passages are the whole of it."""
    text = prompts.text(name)

    assert 20_000 < len(text) < 60_000
    assert "".join(prompts.passages(name)) == text
    assert prompts.QUESTION not in text
    assert f"`{name}.txt`" in (CHECKS / "texts/README.md").read_text()
    assert name in prompts.texts()


@given(st.integers(0, 200_000), st.integers(0, 10_000), st.sampled_from(["code", "prose"]))
def test_a_filler_is_as_long_as_asked(characters: int, start: int, name: str) -> None:
    """It goes round at its end, and begins at a passage."""
    filler = prompts.filler(name, characters, start)

    assert len(filler) == characters
    passages = prompts.passages(name)
    assert filler.startswith(passages[start % len(passages)][:characters])


def test_markers_and_salts_are_fresh() -> None:
    """None twice, and a marker shares no three signs with the text: there it could be copied."""
    near = prompts.text("prose")
    markers = {prompts.marker(near) for _ in range(100)}

    assert len(markers) == 100
    assert len({prompts.salt() for _ in range(100)}) == 100
    for marker in markers:
        trigrams = [marker[at : at + 3] for at in range(len(marker) - 2)]
        assert len(set(trigrams)) == len(trigrams)
        assert not any(one in near for one in trigrams)


def test_no_sign_stands_three_times_in_a_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that copies went on from PPP as the prompt had begun; the next word is taken."""
    drawn = iter("XQD7583PPP" + "XQD7583PPQ")
    monkeypatch.setattr(prompts.secrets, "choice", lambda _of: next(drawn))

    assert prompts.marker("") == "XQD-7583-PPQ"
