"""The operations, one file each. To add one, write its file and name it here.

EDIT_OPERATIONS are those that `edit_document` offers, in the order in which a client sees them.
"""

from workspace.edits.add_section import AddSection
from workspace.edits.add_task import AddTask
from workspace.edits.append_content import AppendContent
from workspace.edits.complete_task import CompleteTask
from workspace.edits.create_document import CreateDocument
from workspace.edits.operation import DocumentOperation, Operation, Outcome
from workspace.edits.remove_document import RemoveDocument
from workspace.edits.remove_section import RemoveSection
from workspace.edits.rename_section import RenameSection
from workspace.edits.reopen_task import ReopenTask
from workspace.edits.tag_document import TagDocument
from workspace.edits.update_content import UpdateContent

EDIT_OPERATIONS: tuple[type[DocumentOperation], ...] = (
    AddSection,
    AddTask,
    UpdateContent,
    AppendContent,
    RenameSection,
)

__all__ = [
    "EDIT_OPERATIONS",
    "AddSection",
    "AddTask",
    "AppendContent",
    "CompleteTask",
    "CreateDocument",
    "DocumentOperation",
    "Operation",
    "Outcome",
    "RemoveDocument",
    "RemoveSection",
    "RenameSection",
    "ReopenTask",
    "TagDocument",
    "UpdateContent",
]
