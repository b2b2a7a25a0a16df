"""Cases with several documents, in the fences `before PATH` and `after PATH`, and plans of their operations.

A document without an `after` fence is unchanged; a document with an empty `gone PATH` fence is removed.
The fence `settings` is the workspace's docyard.toml, and the fence `files` lists the paths of further files.
"""

from __future__ import annotations

from pathlib import Path

from templates import builtin_types
from tests import repositories
from tests.workspace.cases import Case
from workspace.document.splices import EditContext
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.edit_operations import EDIT_OPERATIONS
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import RemoveSection
from workspace.edits.tasks import CompleteTask, ReopenTask
from workspace.git.reader import GitReader
from workspace.markdown.attribute_lists import AnchorForm
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import BatchMode, Plan, build_plan

_OTHER_OPERATIONS: tuple[type[Operation], ...] = (
    CompleteTask,
    CreateDocument,
    RemoveDocument,
    RemoveSection,
    ReopenTask,
    TagDocument,
)
OPERATIONS = {operation.name: operation for operation in (*EDIT_OPERATIONS, *_OTHER_OPERATIONS)}
EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2025-09-19")


def make_operation(fields: dict[str, object]) -> Operation:
    """Return the operation with the fields that a case gives as JSON."""
    arguments = dict(fields)
    operation_type = OPERATIONS[str(arguments.pop("operation"))]
    if operation_type is CreateDocument:
        arguments["type"] = builtin_types()["document"]
    if isinstance(arguments.get("tags"), list):
        arguments["tags"] = tuple(arguments["tags"])
    return operation_type(**arguments)


def read_files(case: Case, prefix: str) -> dict[str, bytes]:
    """Return the documents of the fences that begin with `prefix`, by path."""
    return {
        fence.removeprefix(f"{prefix} "): case.data(fence)
        for fence in case.fences
        if fence.startswith(f"{prefix} ")
    }


def plan_case(case: Case, folder: Path) -> Plan:
    """Return the plan of a case's operations on its documents."""
    files: dict[str, str | bytes] = {**read_files(case, "before")}
    files |= dict.fromkeys(case.fences.get("files", "").splitlines(), b"x")
    if "settings" in case.fences:
        files["docyard.toml"] = case.data("settings")
    repo = repositories.create_repository(folder, files)
    request = case.json("json")
    operations = [make_operation(fields) for fields in (request if isinstance(request, list) else [request])]
    return build_plan(Snapshot(GitReader(repo.path), repo.head()), operations, BatchMode.EACH, EDIT_CONTEXT)
