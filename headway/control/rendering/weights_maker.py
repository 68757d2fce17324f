"""Makes weights: pinned files in a folder named after their revision, or ones that are there."""

import hashlib
from pathlib import PurePosixPath
from urllib.parse import quote

from headway.control import weights
from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.rendering import authoring
from headway.control.rendering.maker import Made, Maker
from headway.control.secrets import Secret
from headway.wire import resources as wire
from headway.wire.loader import canonical

_SHORT = 16
ENDPOINT = "https://huggingface.co"


def made(maker: Maker, one: authoring.Weights, at: Value) -> Made:
    """Make weights, and the variable that names where they are."""
    if not one.source:
        hint = "ORG/REPO@REVISION of a hub, URL#sha256=HEX, or the path of what is there"
        raise ConfigError(at.where, "weights: wants a source", hint=hint)
    if one.source.startswith("/"):
        return _found(maker, one, at)
    token = _token(one, at)
    endpoint = one.endpoint or ENDPOINT
    source = weights.source_of(one.source, at.at("source"), endpoint=endpoint, token=token)
    pin = maker.weights(source)
    patterns = one.files or ((one.file,) if one.file else ())
    files = weights.chosen(pin, patterns, source)
    if one.file and one.file not in files:
        problem = f"weights {source.key} have no file {one.file!r} among those chosen"
        raise ConfigError(at.at("file"), problem)
    path = f"{maker.scope.get('weights_root')}/{source.name}-{pin.commit[:_SHORT]}"
    if len(files) < len(pin.files):
        path += "-" + hashlib.sha256(canonical(sorted(files))).hexdigest()[:8]
    named = one.file or (next(iter(files)) if source.url else "")
    maker.scope = maker.scope.with_fixed({one.name: f"{path}/{named}" if named else path})
    url = source.url or f"{endpoint.rstrip('/')}/{source.repo}/resolve/{quote(pin.commit)}/"
    blob = None
    if token is not None:
        maker.secrets.append((f"the token for {source.key}", token))
        blob = maker.blob(maker.reveal(token).encode(), secret=True)
    if one.max_mib_s < 0 or one.deadline_s <= 0:
        raise ConfigError(at.where, "weights: max_mib_s and deadline_s want whole numbers above 0")
    maker.fetches.append(wire.Fetch(path, url, blob, one.max_mib_s, one.deadline_s))
    rows = tuple(
        wire.WeightsFile(name, file.size, file.sha256, "" if file.sha256 else file.blob_id)
        for name, file in files.items()
    )
    exact = source.url or f"{source.repo}@{pin.commit}"
    return (wire.Weights(path, exact, rows),)


def _found(maker: Maker, one: authoring.Weights, at: Value) -> Made:
    if not one.fingerprint:
        hint = "write any word: invoke plan --host HOST then names the one that is there"
        raise ConfigError(at.where, "weights: what is there wants its fingerprint", hint=hint)
    path = one.source.rstrip("/")
    if any(step in ("", ".", "..") for step in path.split("/")[1:]):
        raise ConfigError(at.at("source"), f"{one.source!r} is no plain absolute path")
    named = str(PurePosixPath(path) / one.file) if one.file else path
    maker.scope = maker.scope.with_fixed({one.name: named})
    return (wire.FoundWeights(path, one.fingerprint),)


def _token(one: authoring.Weights, at: Value) -> Secret | None:
    if one.token is None or one.token == "":
        return None
    if not isinstance(one.token, Secret):
        hint = "token: !secret {env: HF_TOKEN}; what stands in git is known to all who read it"
        raise ConfigError(at.at("token"), "weights: token is no secret", hint=hint)
    return one.token
