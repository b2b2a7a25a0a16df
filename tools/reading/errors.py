"""What the tools that read texts have in common when a call fails: the fields of an error, and an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Given
    from workspace.snapshot import Snapshot

Data = dict[str, Any]

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
    found = _candidates(error)
    if _HEADING in example and error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_SECTION") and found:
        return {**example, _HEADING: found[0]}
    example = {name: value for name, value in example.items() if name != "ref"}
    paths = (str(example.get(_PATH, "")).partition("#")[0], *found, *list(snapshot.documents)[:1])
    for path in dict.fromkeys(paths):
        try:
            return _readable(example, path, snapshot)
        except WorkspaceError:
            continue
    return example


def _readable(example: Data, path: str, snapshot: Snapshot) -> Data:
    """The example for a file that is there. Raises WorkspaceError where it is not, or cannot be read."""
    from workspace.texts.finding import find_entry
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


def _candidates(error: WorkspaceError) -> list[str]:
    """The names that the error proposes, as a call takes them."""
    listed = error.details.get("candidates")
    found: list[str] = []
    for item in listed if isinstance(listed, list | tuple) else ():
        name = item.get("slug", item.get("address")) if isinstance(item, dict) else item
        if isinstance(name, str):
            found.append(name)
    return found
