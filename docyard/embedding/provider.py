"""The provider of vectors that the options name.

Provider, model, URL and key come from the operator alone: flags, the environment, and the file of sources.
`docyard.toml` can hold none of them. Otherwise, a person who can push could send all texts, and the
key, to another URL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from docyard.embedding.errors import InvalidProvider

if TYPE_CHECKING:
    from index.vectors.embedder import Embedder

ProviderName = Literal["none", "hash", "local", "http"]
PROVIDER_NAMES: tuple[ProviderName, ...] = ("none", "hash", "local", "http")


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """The choice of a provider.

    `model` is a folder with a model for `local`, None for the packaged one, and the name of a model for
    `http`. `url` and `key` belong to `http`. `dimensions` is the number of dimensions to ask for; None for
    the model's own.
    """

    name: ProviderName = "none"
    model: str | None = None
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    dimensions: int | None = None


def create_embedder(options: ProviderOptions, folder: Path | None = None) -> Embedder | None:
    """Return the provider; None for `none`. A relative path of a model is relative to `folder`.

    No model is loaded, and no server is called, before the first text. Raises InvalidProvider.
    """
    _check_options(options)
    if options.name == "hash":
        from index.vectors.hash_embedder import HashEmbedder

        return HashEmbedder()
    if options.name == "local":
        from docyard.embedding.local import LocalEmbedder, find_packaged_model

        if options.model is None:
            return LocalEmbedder(find_packaged_model())
        try:
            path = Path(options.model).expanduser()
        except RuntimeError:  # the home folder of a user is unknown
            path = Path(options.model)
        return LocalEmbedder(path if folder is None else folder / path)
    if options.name == "http":
        from docyard.embedding.http import HttpEmbedder

        if options.url is None or options.model is None:
            missing = "url" if options.url is None else "model"
            raise InvalidProvider(
                f"the embedding provider 'http' needs a {missing}",
                fix=f"Set --embedding-{missing} or DOCYARD_EMBEDDING_{missing.upper()}.",
                field=missing,
            )
        return HttpEmbedder(options.url, options.model, options.key, options.dimensions)
    return None


def _check_options(options: ProviderOptions) -> None:
    """Raise InvalidProvider if an option is invalid, or does not belong to the provider."""
    if options.name not in PROVIDER_NAMES:
        raise InvalidProvider(
            "the name of the embedding provider is unknown",
            fix=f"Use one of: {', '.join(PROVIDER_NAMES)}.",
            field="provider",
        )
    if options.name != "http":
        for name, value in (("url", options.url), ("dimensions", options.dimensions)):
            if value is not None:
                raise InvalidProvider(
                    f"the embedding provider '{options.name}' takes no {name}",
                    fix=f"Use the provider http, or leave out the {name}.",
                    field=name,
                )
    if options.model is not None and options.name in ("none", "hash"):
        raise InvalidProvider(
            f"the embedding provider '{options.name}' takes no model",
            fix="Use the provider local or http, or leave out the model.",
            field="model",
        )
    for name, value in (("url", options.url), ("model", options.model)):
        if value is not None and not value.strip():
            raise InvalidProvider(
                f"the {name} of the embedding provider must not be empty",
                fix=f"Set the {name}, or leave it out.",
                field=name,
            )
    if options.dimensions is not None and options.dimensions < 1:
        raise InvalidProvider(
            f"the number of dimensions must be at least 1 ({options.dimensions})",
            fix="Set a number that the model supports, or leave it out.",
            field="dimensions",
        )
