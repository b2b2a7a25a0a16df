"""The tools that plan and check work, in the order of a client's list.

claim_task.py  claim_task: claims a ready task for one client
list_tasks.py  list_tasks: lists the open tasks of the workspace
plan_task.py   plan_task: writes what a task waits for
view_drift.py  view_drift: lists the sections whose code changed after their text last did
view_trace.py  view_trace: shows where an identifier is required, designed, tasked, done and tested
"""

from tools.planning.claim_task import TOOL as CLAIM_TASK
from tools.planning.list_tasks import TOOL as LIST_TASKS
from tools.planning.plan_task import TOOL as PLAN_TASK
from tools.planning.view_drift import TOOL as VIEW_DRIFT
from tools.planning.view_trace import TOOL as VIEW_TRACE

TOOLS = (LIST_TASKS, PLAN_TASK, CLAIM_TASK, VIEW_DRIFT, VIEW_TRACE)
