"""The operations of the tool `edit_document`; `tools/documents/edit_operations.py` describes their fields."""

from workspace.edits.documents import MoveDocument
from workspace.edits.metadata import SetMetadata
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, MoveSection, RenameSection
from workspace.edits.tasks import AddTask, MoveTask, RemoveTask, UpdateTask
from workspace.edits.text import AppendContent, ReplaceText, UpdateContent

EDIT_OPERATIONS: tuple[type[DocumentOperation], ...] = (
    AddSection,
    AddTask,
    UpdateTask,
    RemoveTask,
    MoveTask,
    UpdateContent,
    AppendContent,
    RenameSection,
    MoveSection,
    ReplaceText,
    SetMetadata,
    MoveDocument,
)
"""The classes in the order in which a client reads them."""
