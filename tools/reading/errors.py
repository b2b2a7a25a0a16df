"""What the tools that read texts have in common when a call fails: the fields of an error, and an example."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from tools.examples import proposed
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools.tool import Given
    from workspace.snapshot.snapshot import Snapshot

from tools.errors import Data

_PATH = "file_path"
_HEADING = "section_heading"


def marked_as_error(given: Given) -> Mapping[str, object]:
    """The field by which a reader of the contract knows an error."""
    return {"type": "error"}


def without_section(given: Given) -> Mapping[str, object]:
    """The fields of an error where a section was asked for: no content, and the section as it was asked."""
    asked = given.get(_HEADING)
    return {"content": "", "type": "error", "section": asked[:500] if isinstance(asked, str) else ""}


def with_text(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """An example whose file can be read at the tip and whose section is in it.

    A `ref` stays only where the error itself names sections that are there.
    """
    found = proposed(error)
    if _HEADING in example and error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_SECTION") and found:
        return {**example, _HEADING: found[0]}
    example = {name: value for name, value in example.items() if name != "ref"}
    for path in _paths(example, found, snapshot):
        with suppress(WorkspaceError):
            return _readable(example, path, snapshot)
    return example


def _paths(example: Data, found: Sequence[str], snapshot: Snapshot) -> Iterator[str]:
    """The paths of files that the example may name, best first; all of a commit are listed last."""
    from workspace.document.addresses import split_address
    from workspace.texts.files import Files
    from workspace.texts.text_file import relative_path

    files = Files(snapshot)
    with suppress(WorkspaceError):
        path, _ = split_address(relative_path(snapshot, str(example.get(_PATH, ""))), files)
        if path in files:  # why it is not is known already, and is dear to find out again
            yield path
    yield from found
    yield from islice(snapshot.documents, 1)


def _readable(example: Data, path: str, snapshot: Snapshot) -> Data:
    """The example for a file that is there. Raises WorkspaceError where it cannot be read."""
    from workspace.texts.finder import find_entry
    from workspace.texts.outline import outline_of
    from workspace.texts.text_file import read_text

    text = read_text(snapshot, path)
    example = {**example, _PATH: text.path}
    if _HEADING not in example:
        return example
    outline = outline_of(text)
    try:
        find_entry(text, outline, str(example[_HEADING]))
    except WorkspaceError:
        return {**example, _HEADING: outline.entries[-1].address} if outline.entries else example
    return example
