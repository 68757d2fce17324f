"""References are read as Docker reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError
from headway.control.pins.reference import Reference, is_id, reference

DIGEST = "sha256:" + "0c" * 32


@pytest.mark.parametrize(
    ("ref", "means"),
    [
        ("redis", Reference("docker.io", "library/redis", "latest", named=False)),
        ("acme/engine:v1", Reference("docker.io", "acme/engine", "v1", named=False)),
        ("docker.io/redis:7", Reference("docker.io", "library/redis", "7")),
        ("index.docker.io/a/b:7", Reference("docker.io", "a/b", "7")),
        ("ghcr.io/a/b/c:v1.2-x", Reference("ghcr.io", "a/b/c", "v1.2-x")),
        ("localhost/engine", Reference("localhost", "engine", "latest")),
        ("gpu1:5000/engine", Reference("gpu1:5000", "engine", "latest")),
        ("[::1]:5000/engine:v1", Reference("[::1]:5000", "engine", "v1")),
        (f"ghcr.io/a/b@{DIGEST}", Reference("ghcr.io", "a/b", "", DIGEST)),
        (f"ghcr.io/a/b:v1@{DIGEST}", Reference("ghcr.io", "a/b", "v1", DIGEST)),
    ],
)
def test_a_reference_names_a_registry_a_repository_and_what_of_it(
    ref: str, means: Reference
) -> None:
    """A registry's port is no tag, `library/` is Docker Hub's own, a digest counts most."""
    assert reference(ref, "hosts.yaml:3") == means
    assert means.wanted == (means.digest or means.tag)


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("", "is no repository"),
        ("Acme/engine", "is no repository"),
        ("ghcr.io/a//b", "is no repository"),
        ("a/b:", "is no tag"),
        ("a/b:v 1", "is no tag"),
        ("a/b@v1", "is no digest"),
        ("https://ghcr.io/a", "is no repository"),
        ("a/b:${TAG}", "is no tag"),
    ],
)
def test_what_docker_would_not_take_is_an_error_at_its_line(ref: str, says: str) -> None:
    """It is said before anybody is asked."""
    with pytest.raises(ConfigError, match=f"^hosts.yaml:3: image .*{says}"):
        reference(ref, "hosts.yaml:3")


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing that is read holds what a shell or a URL would take for more."""
    try:
        found = reference(text, "here")
    except ConfigError:
        return
    assert not set(f"{found.registry}{found.repository}{found.wanted}") & set(" '\"\\!?#\n;&|$")


def test_an_id_is_no_name() -> None:
    """Compose files may name an image by it."""
    assert is_id(DIGEST)
    assert not is_id("sha256:abc")
    assert not is_id(f"a@{DIGEST}")
