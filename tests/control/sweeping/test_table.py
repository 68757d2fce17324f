"""What a sweep says: a table, a plot, and the truth about the best."""

from headway.control.sweeping.table import Launched, best, text
from headway.wire.gate import Measurement, Report
from headway.wire.verdict import Fate, Verdict


def launched(
    value: int, speed: int, acceptance: int, verdict: Verdict = Verdict.PASS, says: str = ""
) -> Launched:
    """Make a launch as decode measures it; speed in tokens/s, acceptance in milli-tokens a step."""
    measured = (
        Measurement("tokens_s", 1000 * speed, "milli-tokens/s", 5, 400),
        *((Measurement("acceptance", acceptance, "milli-tokens"),) if acceptance else ()),
    )
    who = ("decode", "decode", "vllm", verdict, Fate.SAME, None, None, (says,))
    return Launched(value, (Report(*who, measured),))


RUNGS = (
    launched(0, 50, 0),
    launched(2, 92, 1900),
    launched(4, 80, 2400),
    Launched(6, (), "did not start: card-out-of-memory"),
)


def test_the_longest_acceptance_is_not_always_the_fastest() -> None:
    """A deeper draft is accepted more, and takes longer than it saves."""
    assert list(best("draft_depth", RUNGS)) == [
        "fastest: draft_depth=2 with 92.0 ± 0.4 tok/s",
        "the longest acceptance is slower: draft_depth=4, 2.4 tok/step, 80.0 ± 0.4 tok/s",
    ]


def test_where_they_agree_nothing_more_is_said() -> None:
    """Nor where nothing is drafted at all."""
    assert len(list(best("draft_depth", RUNGS[:2]))) == 1
    assert len(list(best("draft_depth", RUNGS[:1]))) == 1


def test_a_launch_that_did_not_pass_is_never_the_best() -> None:
    """Fast and wrong is wrong."""
    wrong = launched(2, 900, 0, Verdict.FAIL, "noise above the limit")
    assert next(iter(best("n", (launched(1, 5, 0), wrong)))).startswith("fastest: n=1")
    assert list(best("n", (wrong,))) == [
        "no value of n passed with a throughput: nothing to choose from"
    ]


def test_it_reads_as_a_table_and_a_plot() -> None:
    """A line a value, and a bar as long as it is fast."""
    assert (
        text("draft_depth", RUNGS)
        == """\
DRAFT_DEPTH  VERDICT    TOKENS_S          ACCEPTANCE    SAYS
0            PASS       50.0 ± 0.4 tok/s
2            PASS       92.0 ± 0.4 tok/s  1.9 tok/step
4            PASS       80.0 ± 0.4 tok/s  2.4 tok/step
6            no launch                                  did not start: card-out-of-memory

tokens_s by draft_depth
0  ██████████████████████ 50.0 ± 0.4 tok/s
2  ████████████████████████████████████████ 92.0 ± 0.4 tok/s
4  ███████████████████████████████████ 80.0 ± 0.4 tok/s
6

fastest: draft_depth=2 with 92.0 ± 0.4 tok/s
the longest acceptance is slower: draft_depth=4, 2.4 tok/step, 80.0 ± 0.4 tok/s"""
    )
