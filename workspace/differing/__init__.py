"""What changed between two versions, as people think of it: sections, tasks, keys, and words.

`section_changes` compares two versions of a document, `tree_changes` two commits; both give values.
`as_markdown`, `as_data` and `as_lines` show them, within a bound. It reads, and never guesses: what cannot be
told apart was removed and added.
"""

from workspace.differing.change import DocumentChange, DocumentKind, Kind, Place, SectionChange
from workspace.differing.documents import document_change, tree_changes
from workspace.differing.edits import edits
from workspace.differing.sections import section_changes
from workspace.differing.telling import Segment
from workspace.differing.to_data import as_data
from workspace.differing.to_lines import as_lines, plain_line
from workspace.differing.to_markdown import as_markdown
from workspace.differing.words import Edit

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
