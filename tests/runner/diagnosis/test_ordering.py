"""Causes come before what they explain, and what is likelier before what is less so."""

from headway.runner.diagnosis.ordering import Found, ordered
from headway.wire.findings import Known


def table(name: str) -> Known:
    """Look up a finding of these tests."""
    rows = {
        "fire": Known("it burns", "water", "test", weight=40, explains=("dark",), wide=True),
        "cut": Known("a wire is cut", "mend it", "test", weight=50, explains=("dark",)),
        "out": Known(
            "no light", "see why", "test", weight=90, group="dark", command="light {lamp}"
        ),
        "dusty": Known("dust lies", "wipe", "test", weight=10),
        "fact": Known("it is a lamp", "nothing", "test"),
    }
    return rows[name]


def test_a_cause_comes_first_however_likely_its_symptom_is() -> None:
    """Somebody was woken for the symptom, and has to mend the cause."""
    causes = ordered([Found("out", "lamp"), Found("dusty"), Found("cut", "lamp")], table)

    assert [(one.finding, one.because) for one in causes] == [
        ("cut", ()),
        ("dusty", ()),
        ("out", ("cut",)),
    ]


def test_only_a_wide_cause_explains_what_is_about_something_else() -> None:
    """The neighbour's wire has nothing to do with this lamp; a fire has."""
    by_wire = ordered([Found("out", "lamp"), Found("cut", "neighbour")], table)
    by_fire = ordered([Found("out", "lamp"), Found("fire", "cellar")], table)

    assert [one.because for one in by_wire] == [(), ()]
    assert [one.finding for one in by_fire] == ["fire", "out"]


def test_the_same_finding_is_told_once_and_a_mere_fact_not_at_all() -> None:
    """Weight 0 in the table: no trouble."""
    causes = ordered([Found("out", "a"), Found("out", "a"), Found("fact", "a")], table)

    assert [one.finding for one in causes] == ["out"]


def test_values_fill_the_command_and_evidence_stays_short() -> None:
    """What is typed is whole."""
    [cause] = ordered([Found("out", "a", ("1", "2", "3", "4"), {"lamp": "north"})], table)

    assert (cause.command, cause.evidence) == ("light north", ("1", "2", "3"))
