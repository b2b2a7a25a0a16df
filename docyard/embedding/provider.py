"""The provider of vectors that the options name.

Provider, model, URL and key come from the operator alone: flags, the environment, and the file of sources.
`docyard.toml` can hold none of them. Otherwise, whoever can push could send all texts, and the key, to a URL
of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from docyard.embedding.errors import InvalidProvider

if TYPE_CHECKING:
    from index.vectors.embedder import Embedder

ProviderName = Literal["none", "hash", "local", "http"]
PROVIDER_NAMES: tuple[ProviderName, ...] = ("none", "hash", "local", "http")


class ProviderOptions(NamedTuple):
    """The choice of a provider.

    `model` is a folder with a model for `local`, None for the packaged one, and the name of a model for
    `http`. `url` and `key` belong to `http`. `dimensions` is the number of dimensions to ask for; None for
    the model's own.
    """

    name: ProviderName = "none"
    model: str | None = None
    url: str | None = None
    key: str | None = None
    dimensions: int | None = None


def create_embedder(options: ProviderOptions, folder: Path | None = None) -> Embedder | None:
    """Return the provider; None for `none`. A relative path of a model is relative to `folder`.

    Nothing is read and nobody is called before the first text. Raises InvalidProvider.
    """
    if options.name != "http":
        for field, value in (("url", options.url), ("dimensions", options.dimensions)):
            if value is not None:
                raise InvalidProvider(
                    f"the embedding provider '{options.name}' takes no {field}",
                    fix=f"Use the provider http, or leave out the {field}.",
                    field=field,
                )
    if options.model is not None and options.name in ("none", "hash"):
        raise InvalidProvider(
            f"the embedding provider '{options.name}' takes no model",
            fix="Use the provider local or http, or leave out the model.",
            field="model",
        )
    if options.name == "hash":
        from index.vectors.hash_embedder import HashEmbedder

        return HashEmbedder()
    if options.name == "local":
        from docyard.embedding.local import LocalEmbedder, find_packaged_model

        if options.model is None:
            return LocalEmbedder(find_packaged_model())
        path = Path(options.model).expanduser()
        return LocalEmbedder(path if folder is None else folder / path)
    if options.name == "http":
        from docyard.embedding.http import HttpEmbedder

        if options.url is None or options.model is None:
            field = "url" if options.url is None else "model"
            raise InvalidProvider(
                f"the embedding provider 'http' needs a {field}",
                fix=f"Set --embedding-{field} or DOCYARD_EMBEDDING_{field.upper()}.",
                field=field,
            )
        return HttpEmbedder(options.url, options.model, options.key, options.dimensions)
    return None
