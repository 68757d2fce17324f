"""What an image is now, asked of a double of a registry: what the real one never shows."""

import base64
import json
from pathlib import Path

import pytest

from headway.control.errors import ConfigError, HeadwayError, RefusedError, UnreachableError
from headway.control.pins.pins import Entry
from headway.control.pins.registry import UnknownImageError
from headway.control.pins.resolving import Registries
from headway.control.secrets import Secret
from tests.control.pins.registries import Double, digest_of, image, index

REF = "acme.io/acme/engine:v1"
NOW = "2026-11-30T04:00:00Z"
AMD = ("linux/amd64",)


def registries(double: Double, folder: Path, **auths: dict[str, str]) -> Registries:
    """Resolve by this double, with these logins."""
    file = folder / "config.json"
    file.write_text(json.dumps({"auths": auths}))
    return Registries(Secret.of, lambda: NOW, file=file, ask=double)


def auth(user: str, password: str) -> dict[str, str]:
    """Write a login as Docker keeps it."""
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def test_the_digest_is_the_indexs_and_platforms_are_all_it_has(tmp_path: Path) -> None:
    """HEAD for the tag, and then by digest: a tag that moves meanwhile changes nothing."""
    double = Double()
    mine, _ = image("amd64", 5000)
    other, _ = image("arm64", 7)
    digest = double.push(index({"amd64": mine, "arm64": other}), "v1")
    double.push(mine)
    found = registries(double, tmp_path).resolve(REF, "role.yaml:3", AMD)
    assert found == Entry(
        digest=digest,
        platforms=("linux/amd64", "linux/arm64"),
        size=len(image("amd64", 5000)[1]) + 5000,
        resolved_at=NOW,
    )
    assert [(how, url.rpartition("/")[2]) for how, url, _ in double.asked] == [
        ("HEAD", "v1"),
        ("GET", digest),
        ("GET", digest_of(mine)),
    ]


def test_a_single_image_says_in_its_config_what_it_is_for(tmp_path: Path) -> None:
    """It is read: an image for other machines is refused here, not on the host."""
    double = Double()
    body, config = image("arm64")
    double.push(body, "v1")
    double.push(config)
    known = registries(double, tmp_path)
    assert known.resolve(REF, "role.yaml:3", ("linux/arm64",)).platforms == ("linux/arm64",)
    with pytest.raises(ConfigError, match=r"^role.yaml:3: image .* is not for linux/amd64: it is"):
        known.resolve(REF, "role.yaml:3", AMD)


def test_a_registry_that_names_no_digest_has_its_bytes_hashed(tmp_path: Path) -> None:
    """Older ones leave the header out (FIELD: it is a MUST of today's)."""
    double = Double(names_digests=False)
    body, config = image()
    digest = double.push(body, "v1")
    double.push(config)
    assert registries(double, tmp_path).resolve(REF, "role.yaml:3", AMD).digest == digest


def test_an_image_that_is_what_it_was_is_asked_no_more(tmp_path: Path) -> None:
    """Repinning costs a HEAD an image, and its time of resolving stays."""
    double = Double()
    body, _ = image()
    was = Entry(digest=double.push(body, "v1"), resolved_at="2025-01-01T00:00:00Z")
    assert registries(double, tmp_path).resolve(REF, "role.yaml:3", AMD, was=was) is was
    assert [how for how, _, _ in double.asked] == ["HEAD"]


def test_a_token_is_had_once_and_the_password_goes_to_its_realm_alone(tmp_path: Path) -> None:
    """The registry sees the token; the realm the login."""
    double = Double(scheme="Bearer", takes="tok")
    body, config = image()
    double.push(body, "v1")
    double.push(config)
    known = registries(double, tmp_path, **{"acme.io": auth("ops", "word")})
    known.resolve(REF, "role.yaml:3", AMD)
    logins = {url.partition("?")[0].rpartition("/")[2]: login for _, url, login in double.asked}
    assert logins.pop("token") == "Basic " + auth("ops", "word")["auth"]
    assert set(logins.values()) == {"Bearer tok"}
    assert sum(url.startswith(double.realm) for _, url, _ in double.asked) == 1
    asked = next(url for _, url, _ in double.asked if url.startswith(double.realm))
    assert asked.endswith("service=acme&scope=repository%3Aacme%2Fengine%3Apull")


def test_an_identity_token_buys_a_token(tmp_path: Path) -> None:
    """As Docker does it: OAuth's refresh token, posted."""
    double = Double(scheme="Bearer", takes="tok")
    body, config = image()
    double.push(body, "v1")
    double.push(config)
    login = {**auth("<token>", ""), "identitytoken": "refresh"}
    registries(double, tmp_path, **{"acme.io": login}).resolve(REF, "role.yaml:3", AMD)
    assert b"grant_type=refresh_token" in double.posted[0]


@pytest.mark.parametrize(
    ("double", "ref", "kind", "says"),
    [
        (Double(), REF, UnknownImageError, "role.yaml:3: acme.io has no acme/engine v1$"),
        (
            Double(scheme="Basic"),
            REF,
            ConfigError,
            r"acme.io refuses us: there is no login for it in .*\(authentication required\)",
        ),
        (
            Double(scheme="Bearer", realm="http://auth.acme/token"),
            REF,
            RefusedError,
            "wants a login sent to http://auth.acme/token, without TLS",
        ),
        (
            Double(scheme="Bearer", takes="other", realm="https://auth.docker.io/token"),
            "acme/engine:v1",
            UnknownImageError,
            r"docker.io has no acme/engine v1, or hides it \(there is no login for it in",
        ),
        (
            Double(scheme="Bearer", takes="other"),
            REF,
            ConfigError,
            r"acme.io hides acme/engine \(there is no login .*\), or has it not \(authentication",
        ),
        (Double(status=429), REF, UnreachableError, "acme.io: too many requests"),
        (Double(status=503), REF, UnreachableError, "acme.io: HTTP 503"),
    ],
)
def test_what_a_registry_refuses_is_one_line(
    tmp_path: Path, double: Double, ref: str, kind: type[HeadwayError], says: str
) -> None:
    """Which image, at which line, and what to do."""
    with pytest.raises(kind, match=says) as caught:
        registries(double, tmp_path).resolve(ref, "role.yaml:3", AMD)
    assert "\n" not in str(caught.value)


def test_a_login_that_is_not_taken_says_whose_it_is(tmp_path: Path) -> None:
    """The password is in no message."""
    double = Double(scheme="Basic", takes="something else")
    known = registries(double, tmp_path, **{"acme.io": auth("ops", "word")})
    with pytest.raises(ConfigError, match="refuses us: it does not take the login of ops"):
        known.resolve(REF, "role.yaml:3", AMD)
    other = Double(scheme="Bearer")
    known = registries(other, tmp_path, **{"acme.io": auth("ops", "wrong")})
    with pytest.raises(ConfigError, match=r"refuses us: it does not take the login of ops$"):
        known.resolve(REF, "role.yaml:3", AMD)


def test_bytes_that_are_not_what_they_are_called_are_refused(tmp_path: Path) -> None:
    """A cache between us must not choose what runs."""
    double = Double()
    body, _ = image()
    digest = double.push(body, "v1")
    double.kept[digest] = body + b" "
    double.kept["v1"] = body
    with pytest.raises(UnreachableError, match=f"sent other bytes than {digest} names"):
        registries(double, tmp_path).resolve(REF, "role.yaml:3", AMD)


def test_a_page_is_no_manifest(tmp_path: Path) -> None:
    """A proxy answers 200 to anything."""
    double = Double()
    double.push(b"<html>sign in</html>", "v1")
    with pytest.raises(ConfigError, match="has a manifest that nobody can read: not JSON"):
        registries(double, tmp_path).resolve(REF, "role.yaml:3", AMD)


@pytest.mark.parametrize(
    ("ref", "insecure", "url"),
    [
        ("localhost:5000/a/b", (), "http://localhost:5000/v2/"),
        ("127.0.0.1:5000/a/b", (), "http://127.0.0.1:5000/v2/"),
        ("reg.lab:5000/a/b", ("reg.lab:5000",), "http://reg.lab:5000/v2/"),
        ("reg.lab:5000/a/b", ("reg.lab",), "https://reg.lab:5000/v2/"),
        ("a/b", (), "https://registry-1.docker.io/v2/"),
    ],
)
def test_only_what_is_declared_is_asked_without_tls(
    tmp_path: Path, ref: str, insecure: tuple[str, ...], url: str
) -> None:
    """This machine itself, and registries by their whole name."""
    double = Double()
    with pytest.raises(UnknownImageError):
        registries(double, tmp_path).resolve(ref, "here", AMD, insecure=insecure)
    assert double.asked[0][1].startswith(url)
