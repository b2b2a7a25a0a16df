"""The operations, one file each. To add one, write its file and name it here.

EDIT_OPERATIONS are those that `edit_document` offers, in the order in which a client sees them, with the
fields that `tools/documents/edit_operations.py` tells of; RewriteText is what a form sends.
"""

from workspace.edits.append_content import AppendContent
from workspace.edits.complete_task import CompleteTask
from workspace.edits.documents import CreateDocument
from workspace.edits.edits_undo import Undo
from workspace.edits.metadata import SetMetadata
from workspace.edits.move_document import MoveDocument
from workspace.edits.move_section import MoveSection
from workspace.edits.move_task import MoveTask
from workspace.edits.operation import DocumentOperation, Operation, Outcome
from workspace.edits.remove_document import RemoveDocument
from workspace.edits.remove_section import RemoveSection
from workspace.edits.remove_task import RemoveTask
from workspace.edits.rename_section import RenameSection
from workspace.edits.reopen_task import ReopenTask
from workspace.edits.replace_text import ReplaceText
from workspace.edits.restore import RestoreDocument
from workspace.edits.restore_section import RestoreSection
from workspace.edits.rewrite_text import RewriteText
from workspace.edits.sections import AddSection
from workspace.edits.tag_document import TagDocument
from workspace.edits.tasks import AddTask
from workspace.edits.text import UpdateContent
from workspace.edits.update_task import UpdateTask

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
