"""The operations, one file each. To add one, write its file and name it here.

EDIT_OPERATIONS are those that `edit_document` offers, in the order in which a client sees them, with the
fields that `tools/documents/edit_operations.py` tells of; RewriteText is what a form sends.
"""

from workspace.edits.documents import CreateDocument, MoveDocument, RemoveDocument
from workspace.edits.metadata import SetMetadata, TagDocument
from workspace.edits.operation import DocumentOperation, Operation, Outcome
from workspace.edits.restore import RestoreDocument, RestoreSection, Undo
from workspace.edits.sections import AddSection, MoveSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, MoveTask, RemoveTask, ReopenTask, UpdateTask
from workspace.edits.text import AppendContent, ReplaceText, RewriteText, UpdateContent

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

__all__ = [
    "EDIT_OPERATIONS",
    "AddSection",
    "AddTask",
    "AppendContent",
    "CompleteTask",
    "CreateDocument",
    "DocumentOperation",
    "MoveDocument",
    "MoveSection",
    "MoveTask",
    "Operation",
    "Outcome",
    "RemoveDocument",
    "RemoveSection",
    "RemoveTask",
    "RenameSection",
    "ReopenTask",
    "ReplaceText",
    "RestoreDocument",
    "RestoreSection",
    "RewriteText",
    "SetMetadata",
    "TagDocument",
    "Undo",
    "UpdateContent",
    "UpdateTask",
]
