"""The schema that editors take says what the loader reads, and is committed as it is made."""

from dev.schemas import EVENTS_SCHEMA, ROLE_SCHEMA, events_schema, role_schema, text
from headway.control.rendering.authoring import KINDS
from headway.control.rendering.maker import makers
from headway.wire.loader import kind_of


def test_the_committed_schema_is_the_one_the_types_give() -> None:
    """After a change of a kind: python -m dev.schemas."""
    assert ROLE_SCHEMA.read_text() == text(role_schema())
    assert EVENTS_SCHEMA.read_text() == text(events_schema())


def test_every_kind_is_described_and_made() -> None:
    """An authoring kind without a maker would be a kind that renders nothing."""
    described = role_schema()["properties"]["resources"]["items"]["properties"]
    assert set(described) == {kind_of(kind) for kind in KINDS}
    assert set(makers()) == set(KINDS)
    assert all(one["description"] for one in described.values())
