"""What a Hugging Face hub says of a model: the commit of a revision, its files, their hashes.

huggingface_hub's only home. One request; nothing is downloaded. Hosts do without the library
(docs/decisions/007-weights.md).
"""

from dataclasses import dataclass

import httpx2
from huggingface_hub import HfApi
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from headway.control.errors import RefusedError, UnreachableError

ENDPOINT = "https://huggingface.co"
ASK_S = 30


@dataclass(frozen=True)
class HubFile:
    """A file of a repository; large ones have a `sha256`, all have git's `blob_id`."""

    name: str
    size: int
    sha256: str
    blob_id: str


def commit_and_files(
    repo: str, revision: str, endpoint: str = ENDPOINT, token: str = ""
) -> tuple[str, tuple[HubFile, ...]]:
    """Ask what a revision is now; RefusedError where the hub does not give it to this token.

    Without a token none is sent: a login of this machine's would find what hosts cannot fetch.
    """
    api = HfApi(endpoint=endpoint, token=token or False)
    what = f"{repo}@{revision} of {endpoint}"
    try:
        found = api.model_info(repo, revision=revision, files_metadata=True, timeout=ASK_S)
    except GatedRepoError:
        hint = "accept its terms with the account of `token`, and give that token"
        raise RefusedError(f"{what} is gated", hint=hint) from None
    except RepositoryNotFoundError:
        hint = "to a wrong or missing `token` a private one does not exist either"
        raise RefusedError(f"{what}: no such repository", hint=hint) from None
    except RevisionNotFoundError:
        raise RefusedError(f"{what}: the repository has no such revision") from None
    except HFValidationError as error:
        raise RefusedError(f"{what}: {error}") from None
    except OfflineModeIsEnabled:
        hint = "unset HF_HUB_OFFLINE here: hosts are offline, who pins is not"
        raise UnreachableError(what, hint=hint) from None
    except HfHubHTTPError as error:
        raise UnreachableError(f"{what}: the hub answers {error.response.status_code}") from None
    except httpx2.HTTPError as error:
        hint = "HTTPS_PROXY and SSL_CERT_FILE hold for this, too"
        raise UnreachableError(f"{what}: {error or type(error).__name__}", hint=hint) from None
    files = tuple(
        HubFile(
            one.rfilename,
            one.lfs.size if one.lfs else one.size or 0,
            one.lfs.sha256 if one.lfs else "",
            "" if one.lfs else one.blob_id or "",
        )
        for one in found.siblings or ()
    )
    return found.sha or "", files
