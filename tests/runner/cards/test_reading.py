import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Struct
from typing import Any

import pytest

from headway.runner.cards.nvml import Nvml
from headway.runner.cards.reading import Reading
from headway.runner.cards.words import Word
from headway.wire.cards import Card, CardsSeen, Holder
from headway.wire.loader import load, parse
from tests.runner.cards.driver import (
    FUNCTION_NOT_FOUND,
    LOST,
    NO_PERMISSION,
    RESET,
    UNKNOWN,
    Driver,
    process,
)

REPO = Path(__file__).parents[3]


def look(driver: Driver, *, pairs: bool = True) -> CardsSeen:
    """Read a double's cards as one look, as whoever asked puts the words together."""
    return put_together(Reading(Nvml(driver)), pairs=pairs)


def put_together(reading: Reading, *, pairs: bool) -> CardsSeen:
    """Put the words of one look together."""
    said = list(reading.look(pairs=pairs))
    words: list[Word] = [load(Word, parse(json.dumps(word))) for word in said]  # type: ignore[arg-type] # mypy knows no Type[Union]
    assert isinstance(words[-1], CardsSeen)
    return replace(words[-1], cards=tuple(word for word in words if isinstance(word, Card)))


def test_an_h200_is_read_whole() -> None:
    """Every field that a real card answered, in the units of the wire."""
    seen = look(Driver())
    assert (seen.driver, seen.nvml, seen.cuda) == ("580.159.04", "13.580.159.04", "13.0")
    assert seen.trouble == ()
    assert seen.cards[1] == Card(
        index=1,
        uuid="GPU-1",
        name="NVIDIA H200",
        bus="00000000:19:00.0",
        architecture="Hopper",
        capability="9.0",
        total=150_754_820_096,
        used=8_543_797_248,
        reserved=644_939_776,
        free=141_566_083_072,
        power_mw=123_000,
        power_limit_mw=700_000,
        power_min_mw=200_000,
        power_max_mw=700_000,
        power_default_mw=700_000,
        temperature_c=34,
        busy_percent=100,
        memory_busy_percent=0,
        sm_mhz=1980,
        slowed=("software power cap", "software thermal slowdown"),
        pcie_gen=5,
        pcie_gen_max=5,
        pcie_width=16,
        pcie_width_max=16,
        ecc=True,
        ecc_uncorrected=0,
        remap_pending=False,
        remap_failed=False,
        recovery="none",
        mig=False,
        persistence=True,
        compute_mode="default",
    )


@pytest.mark.parametrize("code", [3, FUNCTION_NOT_FOUND])
def test_what_a_driver_does_not_say_is_none_and_no_trouble(code: int) -> None:
    """A GeForce in a virtual machine answers half of it: the other half is still facts."""
    driver = Driver(1, says={}, errors={("DeviceGetTemperature", 0): code})
    seen = look(driver)
    assert seen.trouble == ()
    assert seen.cards == (Card(index=0, uuid="GPU-0", bus="00000000:18:00.0"),)


def test_an_older_driver_is_asked_in_its_own_words() -> None:
    """Before 535 there is no memory v2, no v3 process list and no "event" reasons."""
    mine = os.getpid()
    older: dict[Any, Any] = {
        ("DeviceGetMemoryInfo", 0): Struct(total=100, used=40, free=60),
        "DeviceGetCurrentClocksThrottleReasons": 0x8,
        "DeviceGetComputeRunningProcesses_v2": [process(mine)],
    }
    memory_v2 = ("DeviceGetMemoryInfo", 0, 0x02000028)
    [card] = look(Driver(1, says=older, errors={memory_v2: FUNCTION_NOT_FOUND})).cards
    assert (card.total, card.used, card.reserved, card.free) == (100, 40, None, 60)
    assert card.slowed == ("hardware slowdown",)
    assert [holder.pid for holder in card.holders] == [mine]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (LOST, "card 1: fallen off the bus, NVML says GPU is lost: reboot the machine"),
        (NO_PERMISSION, "card 1: no permission to open /dev/nvidia1"),
        (RESET, "card 1: NVML wants it reset"),
        (UNKNOWN, "card 1: nvmlDeviceGetHandleByIndex: Unknown Error"),
    ],
)
def test_a_card_that_cannot_be_read_is_a_sentence_and_the_others_are_read(
    code: int, says: str
) -> None:
    """One card off the bus must not hide the seven that work."""
    seen = look(Driver(3, errors={("DeviceGetHandleByIndex", 1): code}))
    assert [card.index for card in seen.cards] == [0, 2]
    assert seen.trouble[0].startswith(says)
    assert {(pair.a, pair.b) for pair in seen.pairs} == {(0, 2), (2, 0)}


def test_a_card_lost_between_two_looks_leaves_and_may_come_back() -> None:
    """It falls off under load, and after a reset it has another handle."""
    driver = Driver(2)
    reading = Reading(Nvml(driver))
    assert len(put_together(reading, pairs=False).cards) == 2
    driver._errors[("DeviceGetPowerUsage", 0)] = LOST
    gone = put_together(reading, pairs=False)
    assert [card.index for card in gone.cards] == [1]
    assert "fallen off the bus" in gone.trouble[0]
    driver._errors.clear()
    assert len(put_together(reading, pairs=False).cards) == 2


def test_a_call_that_fails_oddly_is_named_and_the_rest_is_read() -> None:
    """A broken sensor is trouble with a name, not the end of the look."""
    seen = look(Driver(1, errors={("DeviceGetTemperature", 0): UNKNOWN}))
    assert seen.trouble == ("card 0: nvmlDeviceGetTemperature: Unknown Error",)
    assert (seen.cards[0].temperature_c, seen.cards[0].power_mw) == (None, 123_000)


def test_a_driver_without_cards_says_so() -> None:
    """No cards and no sentence would read as "all is well"."""
    assert look(Driver(0)).trouble == ("driver 580.159.04 is loaded and sees no card",)


def test_holders_are_named_by_number_and_start() -> None:
    """A pid that is not in this /proc has no start, so that nobody kills by it."""
    mine, nobody = os.getpid(), 4_194_305  # above the kernel's highest pid
    lists: dict[Any, Any] = {
        "DeviceGetComputeRunningProcesses_v3": [process(mine, None), process(nobody, 7)],
        "DeviceGetGraphicsRunningProcesses_v3": [process(mine, 5)],
    }
    [card] = look(Driver(1, also=lists)).cards
    ours, theirs = card.holders
    assert (ours.pid, ours.used, ours.kind) == (mine, None, "compute")
    assert ours.started > 0
    assert "python" in ours.command
    assert theirs == Holder(nobody, 0, 7, "compute")


def test_reading_is_asked_by_the_number_0() -> None:
    """Pynvml's constant for it is the tuple (0,), which ctypes refuses (fixtures/README.md 6)."""
    driver = Driver(2)
    look(driver)
    indexes = {words[3] for words in driver.asked if words[0] == "DeviceGetP2PStatus"}
    assert indexes == {0, 1, 2, 3}


def test_pairs_say_what_is_granted_and_how_they_are_wired() -> None:
    """Each direction by itself: a regkey may refuse one of them."""
    also = {("DeviceGetP2PStatus", 1, 0, 1): 4, ("DeviceGetTopologyCommonAncestor", 0, 1): 50}
    there, back = look(Driver(2, also=also)).pairs
    assert (there.a, there.b, there.read, there.write, there.topology) == (0, 1, "ok", "ok", "SYS")
    assert (back.a, back.b, back.read, back.write, back.topology) == (
        *(1, 0, "ok", "disabled by regkey", "PHB"),
    )


@pytest.mark.parametrize(
    ("ends", "links"),
    [
        ({"DeviceGetNvLinkRemoteDeviceType": 2}, 18),
        ({("DeviceGetNvLinkRemotePciInfo", 0): Struct(busId="00000000:19:00.0")}, 18),
        ({"DeviceGetNvLinkRemotePciInfo": Struct(busId="00000000:99:00.0")}, 0),
        ({}, 0),
    ],
    ids=["through a switch", "straight", "to another card", "cut"],
)
def test_nvlinks_are_counted_between_two_cards(ends: dict[Any, Any], links: int) -> None:
    """`PHB` is all the topology call says of two cards with 18 links: FIELD.md, 2 x H200."""
    live = {("DeviceGetNvLinkState", index, n): 1 for index in (0, 1) for n in range(18)}
    errors = {("DeviceGetNvLinkState", index, 18): 2 for index in (0, 1)}
    there, _ = look(Driver(2, also={**live, **ends}, errors=errors)).pairs
    assert there.links == links


def test_a_look_for_gates_asks_only_what_moves() -> None:
    """Ten looks a second: what never changes, and the card's own firmware, are left alone."""
    driver = Driver(2)
    reading = Reading(Nvml(driver))
    put_together(reading, pairs=False)
    driver.asked.clear()
    put_together(reading, pairs=False)
    calls = {words[0] for words in driver.asked}
    assert calls.isdisjoint({"DeviceGetUUID", "DeviceGetFieldValues", "DeviceGetP2PStatus"})
    assert {"DeviceGetUtilizationRates", "DeviceGetPowerUsage"} <= calls


def test_what_is_begun_is_said_before_it_is_asked() -> None:
    """A hang is named by the last word before it."""
    driver = Driver(2)
    words = Reading(Nvml(driver)).look(pairs=True)
    assert next(words) == {"begun": {"what": "card 0"}}
    assert "DeviceGetHandleByIndex" not in {asked[0] for asked in driver.asked}


def test_what_the_child_loads_is_as_little_as_it_can() -> None:
    """With dataclasses and typing it started later than eight cards took to be read."""
    names = "child", "opening", "plain", "reading"
    loads = "".join(f"import headway.runner.cards.{name}\n" for name in names)
    script = f"import sys\nsys.path.insert(0, {str(REPO)!r})\n{loads}print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "headway.runner.cards.card" in loaded
    assert {"dataclasses", "typing", "headway.wire"}.isdisjoint(loaded)
