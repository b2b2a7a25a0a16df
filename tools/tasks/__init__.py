"""The tools that manage tasks and labels, in the order in which a client sees them.

complete_task.py  complete_task: a task ticked, with the day and a note
reopen_task.py    reopen_task: a task unticked
tag_document.py   tag_document: a document's labels
"""

from tools.tasks.complete_task import TOOL as COMPLETE_TASK
from tools.tasks.reopen_task import TOOL as REOPEN_TASK
from tools.tasks.tag_document import TOOL as TAG_DOCUMENT

FAMILY = (COMPLETE_TASK, REOPEN_TASK, TAG_DOCUMENT)
