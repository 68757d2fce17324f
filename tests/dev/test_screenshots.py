"""Pictures of the docs: each made by a command of this repo, each shown somewhere."""

from dev.screenshots import IMAGES, REPO, SHOTS

LARGEST = 400_000


def test_every_picture_is_made_by_the_command_and_shown() -> None:
    """`invoke dev.screenshots` makes them all; a picture that nobody shows is let go."""
    assert {path.name for path in IMAGES.iterdir()} == set(SHOTS)
    texts = [path.read_text() for path in (*(REPO / "docs").glob("*.md"), REPO / "README.md")]
    assert {name for name in SHOTS if not any(f"images/{name}" in text for text in texts)} == set()
    kinds = (".png", ".jpg", ".gif", ".svg", ".webp")
    found = {path for path in (REPO / "docs").rglob("*") if path.suffix in kinds}
    assert {path.parent for path in found} <= {IMAGES}


def test_pictures_are_small_enough_for_a_repository() -> None:
    """They come with every clone."""
    assert {path.name for path in IMAGES.iterdir() if path.stat().st_size > LARGEST} == set()
