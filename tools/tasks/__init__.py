"""The tools that manage tasks and tags, in the order of a client's list.

complete_task.py  complete_task: ticks a task, with the date and a note
reopen_task.py    reopen_task: unticks a task
tag_document.py   tag_document: adds, removes or replaces a document's tags
"""

from tools.tasks.complete_task import TOOL as COMPLETE_TASK
from tools.tasks.reopen_task import TOOL as REOPEN_TASK
from tools.tasks.tag_document import TOOL as TAG_DOCUMENT

TOOLS = (COMPLETE_TASK, REOPEN_TASK, TAG_DOCUMENT)
