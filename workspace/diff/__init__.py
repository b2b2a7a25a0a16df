"""What changed between two versions, as people think of it: sections, tasks, keys, and words.

`section_changes` compares two versions of a document, `tree_changes` two commits; both give values.
`as_markdown`, `as_data` and `as_lines` show them, within a bound. It reads, and never guesses: what cannot be
told apart was removed and added.
"""

from workspace.diff.changes import DocumentChange, DocumentKind, Kind, Place, SectionChange
from workspace.diff.descriptions import Segment
from workspace.diff.documents import section_changes
from workspace.diff.formats import as_data, as_lines, as_markdown, plain_line
from workspace.diff.text import Edit, edits
from workspace.diff.trees import document_change, tree_changes

__all__ = [
    "DocumentChange",
    "DocumentKind",
    "Edit",
    "Kind",
    "Place",
    "SectionChange",
    "Segment",
    "as_data",
    "as_lines",
    "as_markdown",
    "document_change",
    "edits",
    "plain_line",
    "section_changes",
    "tree_changes",
]
