# ruff: noqa: UP006, UP007, UP035, UP045 # types as the Python of hosts spells them
"""The strict loader: what does not fit is refused with its place and what would fit."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import pytest
import yaml

from headway.wire.loader import Json, WireError, canonical, dump, dumps, kind_of, load, loads, parse
from headway.wire.resources import Blob, LockedVenv, Resource
from tests.wire.vocabulary import TYPES

MISFITS = Path(__file__).parents[1] / "cases/wire/misfits.yaml"


def misfits() -> list[dict[str, str]]:
    """Read the cases."""
    found: list[dict[str, str]] = yaml.safe_load(MISFITS.read_text())
    return found


@pytest.mark.parametrize("case", misfits(), ids=lambda case: case["name"])
def test_a_misfit_is_refused_with_its_place(case: dict[str, str]) -> None:
    """The whole sentence: path, what is wrong, what there is."""
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()

    with pytest.raises(WireError) as refused:
        loads(TYPES[case["type"]], data)

    assert str(refused.value) == case["says"]


@dataclass(frozen=True)
class Loose:
    """A record of what real ones hold: any JSON, a mapping, what may be absent."""

    any: Json = None
    by: Dict[str, int] = field(default_factory=dict)
    maybe: Optional[Tuple[str, ...]] = None


def test_a_float_in_any_json_is_found_wherever_it_lies() -> None:
    """YAML brings floats as values, not as text: they are refused with their path."""
    with pytest.raises(WireError, match=r"^any/x/1: 0\.5 is not a whole number"):
        load(Loose, {"any": {"x": [1, 0.5]}})
    with pytest.raises(WireError, match="not a whole number"):
        dump(Loose(any=[float("nan")]))


def test_a_key_of_yaml_that_is_no_text_is_refused() -> None:
    """`8080: x` has a number for a key: it says to quote it."""
    with pytest.raises(WireError, match=r"^by: key 8080 is not text; quote it$"):
        load(Loose, {"by": {8080: 1}})


def test_what_may_be_absent_may_be_null_or_left_out() -> None:
    """Both are None; a value is read as its type."""
    assert load(Loose, {"maybe": None}) == load(Loose, {}) == Loose()
    assert load(Loose, {"maybe": ["a"]}) == Loose(maybe=("a",))


def test_the_path_to_where_a_value_stands_is_kept() -> None:
    """Whoever read a file knows its lines: it gives the path in, and gets it back longer."""
    with pytest.raises(WireError) as refused:
        load(Blob, {"sha256": "a", "size": ""}, ("roles/x.yaml", "resources", 3))

    assert refused.value.path == ("roles/x.yaml", "resources", 3, "size")
    assert str(refused.value).startswith("roles/x.yaml/resources/3/size: ")


def test_kinds_are_named_as_role_files_name_them() -> None:
    """Words in lower case, joined by underscores."""
    assert kind_of(LockedVenv) == "locked_venv"
    assert kind_of(Blob) == "blob"


@pytest.mark.parametrize(
    "kind", [float, bytes, Union[str, int], List[str], Dict[int, str], Optional[Union[str, int]]]
)
def test_a_type_without_a_reader_is_the_authors_fault(kind: Any) -> None:
    """It is found when the type is first read, whatever the value, and is no WireError."""
    with pytest.raises(TypeError, match="has no reader"):
        load(kind, None)


def test_a_file_name_that_is_no_utf_8_crosses_and_hashes() -> None:
    """os.listdir gives such a name with lone surrogates; a drop-in of it once ended a transition.

    An engine's answer can hold one, too: JSON may escape half of a pair.
    """
    name = b"caf\xe9.conf".decode("utf-8", "surrogateescape")
    told = Loose(any=name)

    assert loads(Loose, dumps(told).encode()) == told
    assert canonical(told) != canonical(Loose(any="café.conf"))
    assert parse('"\\ud83e"') == "\ud83e"
    assert json.loads(dumps(Loose(any="\ud83e"))) == dump(Loose(any="\ud83e"))


def test_a_union_in_a_union_says_its_kind_once() -> None:
    """A resource within a part is a mapping of one key, as in a role file."""
    found: Resource = load(Resource, {"sysctl": {"key": "vm.swappiness", "value": "1"}})  # type: ignore[arg-type] # a Union is no class

    assert dump(found) == {"key": "vm.swappiness", "value": "1"}
