"""The operations on documents. To add an operation, write its class and list it here.

EDIT_OPERATIONS are the operations of the tool `edit_document`, in the order in which a client reads them.
`tools/documents/edit_operations.py` describes their fields. RewriteText is the operation of the web form.

content.py            check the content and titles of a call, and add anchors to headings
documents.py          create, move and remove documents
metadata.py           set keys and tags of front matter
moved_definitions.py  link and footnote definitions of moved text
operation.py          the base classes of operations, and their outcome
reinsertion.py        insert an old version of a section into a document
restore.py            restore documents and sections, and undo commits
section_move.py       the move of a section with its subsections
section_position.py   the target position of a section, and its level
sections.py           add, remove, rename and move sections
task_text.py          the lines of tasks, and the target position of a task
tasks.py              add, complete, reopen, remove, update and move tasks
text.py               update, append, replace and rewrite text
undo.py               the undo of one commit, document by document
undo_rows.py          the revert of one commit in a list of sections or of front matter keys
undo_text.py          the revert of one commit in the text of a document
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
