"""The developer verbs: `invoke dev.check`, `dev.test`, `dev.prove rollout`, `dev.lab.up` ...

Thin, and quick to load: `invoke --list` reads this file, so what a verb needs is imported in it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from invoke.collection import Collection
from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task


@task
def setup(_: Context) -> None:
    """Install the Debian packages that the lab needs."""
    from dev.packages import install_missing

    with _one_line():
        install_missing()


@task
def check(_: Context) -> None:
    """Run format, lint, types, imports and unit tests."""
    from dev.checking import fails, static, tests

    _exit(static() or fails(tests("not lab")))


@task(name="test", help={"long": "the long ones too"})
def everything(context: Context, *, long: bool = False) -> None:
    """Run what `check` runs, and the lab tests."""
    from dev.checking import fails, static, tests
    from dev.packages import why_no_lab

    why = why_no_lab()
    if why:
        sys.stderr.write(f"no lab tests: {why}; all else runs\n")
    else:
        setup(context)
    marks = [*(["not lab"] if why else []), *([] if long else ["not long"]), "not vllm"]
    _exit(static() or fails(tests(" and ".join(marks))))


@task
def vllm(context: Context) -> None:
    """Judge vLLM itself, installed once and on demand (3.5 GB)."""
    from dev.checking import fails, tests

    setup(context)
    _exit(fails(tests("vllm")))


@task(positional=["name"])
def prove(context: Context, name: str) -> None:
    """Show what an issue had to show, an item a line."""
    from dev.checking import fails, tests

    setup(context)
    _exit(fails(tests(name)))


@task
def screenshots(context: Context) -> None:
    """Make every picture in docs/images again."""
    from dev.screenshots import make

    setup(context)
    for path in make():
        sys.stdout.write(f"{path}\n")


@task
def demo(context: Context) -> None:
    """Watch a real engine go out to three real hosts."""
    from dev.demo import main

    setup(context)
    with _one_line():
        try:
            main()
        except KeyboardInterrupt:
            raise Exit("demo: ended by Ctrl-C", code=130) from None


@task(help={"rounds": "runs of each, in turns"})
def bench(context: Context, rounds: int = 15) -> None:
    """Measure an unchanged rollout against the SSH floor."""
    import tempfile
    from pathlib import Path

    from tests.lab.lab import Lab
    from tests.lab.speed import measure

    setup(context)
    with _one_line(), Lab() as lab, tempfile.TemporaryDirectory() as folder:
        for line in measure(lab, Path(folder), rounds).lines():
            sys.stdout.write(line + "\n")


@task(help={"count": "how many hosts", "recipe": "bookworm, trixie, bullseye"})
def up(context: Context, count: int = 3, recipe: str = "bookworm") -> None:
    """Boot lab hosts to be used by hand."""
    from tests.lab.host import HostSpec
    from tests.lab.lab import Lab

    setup(context)
    with _one_line():
        lab = Lab()
        lab.open(wait_s=5)
        try:
            lab.up([HostSpec(f"gpu{number}", recipe) for number in range(1, count + 1)])
        except BaseException:
            lab.close()
            raise
        lab.inventory(lab.state / "inventory.yaml")
        lab.keep()
    status(context)


@task
def down(_: Context) -> None:
    """Take the lab down, or what a crash left."""
    from tests.lab.lab import Lab

    with _one_line():
        Lab().down()


@task
def status(_: Context) -> None:
    """List the hosts and how to reach them."""
    from tests.lab.lab import Lab

    lab = Lab.look()
    for host in lab.hosts.values():
        state = "answers SSH" if host.answers() else "does not answer"
        sys.stdout.write(f"{host.name:12} {host.address:12} {host.spec.recipe:9} {state}\n")
    how = f"ssh -F {lab.ssh_config} NAME" if lab.hosts else "no lab is up: invoke dev.lab.up"
    sys.stdout.write(f"{how}\n")


@task(help={"command": "run this and come back"})
def ssh(_: Context, name: str, command: str = "") -> None:
    """Log in to a lab host, or run a command."""
    import os

    from tests.lab.lab import Lab

    words = ["ssh", "-F", str(Lab.look().ssh_config), name, *([command] if command else [])]
    os.execvp("ssh", words)  # noqa: S606 # the session becomes the login


@task
def clean(context: Context) -> None:
    """Take the lab down, forget its root file systems."""
    import shutil

    from tests.lab.recipes import CACHE

    down(context)
    shutil.rmtree(CACHE, ignore_errors=True)


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what the lab could not do into one line and exit code 1."""
    from tests.lab.command import LabError

    try:
        yield
    except LabError as error:
        raise Exit(str(error), code=1) from None


def _exit(code: int) -> None:
    if code:
        raise Exit(code=code)


namespace = Collection("dev", setup, check, everything, vllm, prove, screenshots, demo, bench)
namespace.add_collection(Collection("lab", up, down, status, ssh, clean))
