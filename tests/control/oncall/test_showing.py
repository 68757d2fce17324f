"""`show` and `diff`: what a release holds, and in what two of them differ."""

import hashlib

from headway.control.oncall import facets
from headway.control.oncall.finding import Found
from headway.control.oncall.showing import (
    Number,
    diff_text,
    newest,
    release_diff,
    release_text,
    shown_release,
)
from headway.control.telling.history import Sample
from headway.wire.gate import Measurement
from headway.wire.record import Acceptance, State
from headway.wire.release import Part, Release, SubjectSpec, release_of
from headway.wire.resources import Blob, File, Pin, Resource, Service, Stack, Sysctl, Unit

NUMBER = Number("gpu1", "llama", "decode", "tokens_s", 50_000, "milli-tokens/s", 5)


def _blob(text: str, *, secret: bool = False) -> Blob:
    return Blob(hashlib.sha256(text.encode()).hexdigest(), len(text), secret)


def _release(
    context: str, *more: Resource, text: str = "a\nctx\n"
) -> tuple[Release, dict[str, str]]:
    resources = (
        File("/etc/llama.conf", _blob(text)),
        File("/etc/key", _blob(context, secret=True), 0o600),
        *more,
    )
    part = Part(
        "llama",
        "llama_cpp",
        resources,
        argv=(("llama-server",), ("--ctx-size", context), ("--api-key", "not-for-you")),
        subject=SubjectSpec("llama.service"),
        listens=(8000,),
    )
    return release_of((part,)), {_blob(text).sha256: text}


def _found(context: str, *more: Resource, text: str = "a\nctx\n") -> Found:
    release, texts = _release(context, *more, text=text)
    state = State(accepted=(Acceptance(release.id, "c1", 0, "ops@desk", "abc"),))
    return Found("gpu1", release, state, texts)


def test_show_says_what_it_is_since_when_and_what_it_holds() -> None:
    """Options, resources of every kind and measurements; a key on a command line is masked."""
    shown = shown_release(_found("4096", Sysctl("vm.swappiness", "1")), (NUMBER,), 60_000)
    text = release_text(shown)
    assert f"{shown.release}  rendered, in the record of gpu1: 60 s ago by ops@desk" in text
    assert "part llama, of role llama_cpp, port 8000" in text
    assert "--ctx-size 4096" in text
    assert "sysctl  vm.swappiness    value 1" in text
    assert "mode 0600" in text
    assert "50.0 tok/s" in text
    assert "not-for-you" not in text


def test_diff_shows_options_texts_and_fields_and_no_secret() -> None:
    """What changed of a file is shown as text, of a secret one only that it did."""
    left = _found("4096")
    right = _found("8192", Unit("llama.timer", _blob("t")), text="a\nb\n")
    slower = Number("gpu2", "llama", "decode", "tokens_s", 45_000, "milli-tokens/s", 9)
    found = release_diff(left, right, (NUMBER,), (slower,))
    assert [(one.name, one.before, one.after) for one in found.options] == [
        ("--ctx-size", "4096", "8192")
    ]
    what = {one.name: one for one in found.resources}
    assert what["llama.timer"].what == "added"
    assert {"-ctx", "+b"} <= set(what["/etc/llama.conf"].diff)
    assert what["/etc/key"].diff == ("blob: content is secret or no text, and not shown",)
    [moved] = found.numbers
    assert (moved.before, moved.after, moved.percent) == ("50.0 tok/s", "45.0 tok/s", -10)
    assert "-10 %" in diff_text(found)


def test_the_same_release_differs_in_nothing() -> None:
    """It says so, and is no empty answer."""
    found = release_diff(_found("1"), _found("1"))
    assert diff_text(found).endswith(": the same release")


def test_kinds_are_not_named_one_by_one() -> None:
    """Fields are told by their path, whatever kind has them: a Compose project's too."""
    stack = Stack("chat", "/srv/chat", ("/srv/chat/compose.yaml", "/srv/pins.yaml"), ("vllm",))
    service = Service("chat", "vllm", Pin("vllm/vllm-openai:v0.32", digest="sha256:12"))
    part = Part("chat.vllm", "stack")
    found = [facets.facets(part, one) for one in (stack, service)]
    assert [(one.kind, one.name) for one in found] == [("stack", "chat"), ("service", "chat/vllm")]
    assert found[0].fields["files/1"] == "/srv/pins.yaml"
    assert found[1].fields["pin/digest"] == "sha256:12"


def test_an_image_that_moved_is_shown_by_its_digest() -> None:
    """The tag says the same as before; the digest does not."""

    def found(digest: str) -> Found:
        service = Service("chat", "vllm", Pin("vllm/vllm-openai:latest", digest=digest))
        release = release_of((Part("chat.vllm", "stack", (service,)),))
        return Found("gpu1", release, State(), {})

    [moved] = release_diff(found("sha256:12"), found("sha256:34")).resources
    assert moved.fields == ("pin/digest: sha256:12 -> sha256:34",)


def test_of_a_release_the_newest_measurement_of_a_name_counts() -> None:
    """A second check measured again: what it saw is what the release does."""

    def sample(at_ms: int, value: int, release: str = "abc") -> Sample:
        seen = Measurement("tokens_s", value, "milli-tokens/s")
        where = ("r1", "check", "gpu1", "h200", release, "passed", "llama", "decode", "decode")
        return Sample(seen, at_ms, *where)

    found = tuple(newest((sample(1, 10), sample(2, 20), sample(3, 30, "other")), "abc"))
    assert [one.value for one in found] == [20]
