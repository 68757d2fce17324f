"""Secrets that were rotated between two releases: named, recorded ones used, or today's."""

from dataclasses import replace

from headway.runner.orders.rollback import rotated, with_current_secrets
from headway.wire.release import Part, Release, release_of
from headway.wire.resources import Blob, Fetch, File

PLAIN = File("/etc/engine/config", Blob("c" * 64, 1))


def release(key: str, plain: File = PLAIN) -> Release:
    """Make a release with one secret file, one that is none, and a path of its own."""
    secret = File("/etc/engine/env", Blob(key * 64, 1, secret=True), 0o600)
    return release_of((Part("engine", "service", (secret, plain)),))


def test_only_a_secret_that_differs_is_named() -> None:
    """Files that are no secret may differ as they like: that is what a rollback is for."""
    other = File(PLAIN.path, Blob("d" * 64, 1))
    assert rotated(release("a"), release("a", other)) == ()
    assert rotated(release("a"), release("b")) == ("/etc/engine/env",)


def test_with_current_secrets_the_rest_stays_as_recorded() -> None:
    """The target is another release then, with the running one's secret and its own config."""
    other = File(PLAIN.path, Blob("d" * 64, 1))
    mixed = with_current_secrets(release("a"), release("b", other))
    assert mixed == release("b")
    assert mixed.id != release("a").id


def test_weights_are_fetched_with_todays_token_of_the_same_server() -> None:
    """A token that was rotated lets nobody in; one for another server is none of its business."""
    old, new = Blob("1" * 64, 1, secret=True), Blob("2" * 64, 1, secret=True)
    hub, mirror = "https://hub.example/o/m/resolve/a/", "https://mirror.example/o/m/resolve/a/"
    target = replace(release("a"), fetches=(Fetch("/w/a", hub, old), Fetch("/w/b", mirror, old)))
    running = replace(release("b"), fetches=(Fetch("/w/c", hub, new),))
    mixed = with_current_secrets(target, running)
    assert mixed.fetches == (Fetch("/w/a", hub, new), Fetch("/w/b", mirror, old))
