"""Targets: the document, section or task that a call names, in one field or in two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments
from workspace.document.addresses import split_address

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot


def target(snapshot: Snapshot, file: str, slug: str | None) -> tuple[str, str | None]:
    """The path and the slug of a target; `file` may also be a whole address (`api.md#endpoints`).

    Raises InvalidArguments where a section is named twice.
    """
    path, fragment = (file, None) if "#" not in file else split_address(file, snapshot.documents)
    if slug is not None and slug.startswith(f"{path}#"):
        slug = slug[len(path) + 1 :]
    if fragment and slug and fragment != slug:
        raise InvalidArguments(
            "'file' names one section and 'slug' another",
            fix="Put the path into 'file' and the section into 'slug'.",
        )
    return path.removeprefix("./"), slug or fragment or None
