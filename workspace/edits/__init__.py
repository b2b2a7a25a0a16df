"""The operations, one file each. To add one, write its file and name it here.

EDIT_OPERATIONS are those that `edit_document` offers, in the order in which a client sees them, with the
fields that `tools/documents/edit_operations.py` tells of; RewriteText is what a form sends.

content.py            content that a caller brings
documents.py          create_document: a new document from a type's skeleton and the content that is there …
metadata.py           set_metadata: keys of a document's front matter set, changed inside, or taken out
moved_definitions.py  definitions of references and footnotes that a moved text needs, leaves behind, or …
operation.py          what an operation is: something that a caller asks for, applied to documents in memory
reinsertion.py        an old version of a section put into a document
restore.py            restore_document: a whole document as it was at another commit, byte for byte
section_place.py      where a section goes: below which parent, beside which sibling, and at which level
sections.py           add_section: a new heading, with its anchor, at the end of its parent or beside a …
task_text.py          where a task goes: after the last one of a section, below another task, or before one
tasks.py              add_task: a further checkbox in a section, or below another task
text.py               update_content: a section's own text replaced, its subsections left alone unless …
transplant.py         a section with all below it taken to another place
undo.py               what one commit did taken back document by document, in an overlay
undo_rows.py          what a commit did to a row of units taken back, where others may have changed the …
undo_text.py          the text of a document without what one commit did to it, made of the bytes of three …
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
