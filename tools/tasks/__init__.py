"""The tools that manage tasks and labels, in the order in which a client sees them."""

from tools.tasks.complete_task import TOOL as COMPLETE_TASK
from tools.tasks.reopen_task import TOOL as REOPEN_TASK
from tools.tasks.tag_document import TOOL as TAG_DOCUMENT

FAMILY = (COMPLETE_TASK, REOPEN_TASK, TAG_DOCUMENT)
