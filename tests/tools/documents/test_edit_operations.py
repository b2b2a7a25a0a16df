"""The operations of edit_document: how a call names them, what is answered, and what a wrong one is told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import Ask, client_of
from tools.arguments import InvalidArguments
from tools.documents import edit_operations
from tools.registry import Toolbox
from workspace.edits import EDIT_OPERATIONS

pytestmark = pytest.mark.smoke

# Fields without an operation, and what they mean; two names are those that the error offers.
MEANT = [
    ({"title": "New", "slug": "tasks", "criteria": "x"}, ["add_task"]),
    ({"title": "New", "slug": "tasks[0]"}, ["add_task", "update_task"]),
    ({"title": "New", "slug": "tasks[0]", "criteria": "x", "assignee": "y"}, ["add_task", "update_task"]),
    ({"slug": "tasks[0]", "note": "x"}, ["update_task"]),
    ({"slug": "tasks[0]", "criteria": "x"}, ["update_task"]),
    ({"slug": "tasks[0]", "to_slug": "endpoints"}, ["move_task"]),
    ({"slug": "tasks[0]", "before": "tasks[2]"}, ["move_task"]),
    ({"slug": "endpoints", "after": "tasks"}, ["move_section"]),
    ({"slug": "endpoints", "to_file": "notes/plain.md"}, ["move_section"]),
    ({"old": "Finds", "new": "Found"}, ["replace_text"]),
    ({"old": "Finds", "new": "Found", "slug": "endpoints/search", "count": 1}, ["replace_text"]),
    ({"metadata": {"a": 1}}, ["set_metadata"]),
    ({"new_path": "b.md"}, ["move_document"]),
    ({"new_title": "A", "slug": "endpoints"}, ["rename_section"]),
    ({"title": "A"}, ["add_section"]),
]


@loop_over(("fields", "names"), MEANT)
def test_fields_decide_for_an_operation(fields: dict[str, object], names: list[str]) -> None:
    item = {"file": "api.md", **fields}
    if len(names) == 1:
        assert edit_operations.resolve_operation(item) == names[0]
        return
    with pytest.raises(InvalidArguments) as caught:
        edit_operations.resolve_operation(item)
    assert caught.value.message == f"'operation' is required: the given fields match {' or '.join(names)}"


TYPES: dict[object, str] = {str: "string", bool: "boolean", int: "integer", Mapping: "object"}


def declared(operation: Any) -> list[tuple[str, str]]:
    """Return the fields of a class as a client should be told them."""
    hints = get_type_hints(operation, localns={"ClassVar": ClassVar})
    found = []
    for field in dataclasses.fields(operation):
        kind = hints[field.name]
        if get_origin(kind) is UnionType:
            [kind] = (part for part in get_args(kind) if part is not NoneType)
        name = field.name if field.default is dataclasses.MISSING else f"{field.name}?"
        found.append((name, TYPES[get_origin(kind) or kind]))
    return found


def test_what_a_client_is_told_is_what_the_classes_declare() -> None:
    told = [(name, list(specified.items())) for name, specified in edit_operations.SPECIFICATIONS.items()]
    assert told == [(operation.name, declared(operation)) for operation in EDIT_OPERATIONS]


@loop_over("slug", ["tasks", "tasks[0]"])
def test_a_name_alone_removes_and_moves_nothing(slug: str) -> None:
    with pytest.raises(InvalidArguments, match="the given fields match no operation"):
        edit_operations.resolve_operation({"file": "api.md", "slug": slug})


@pytest.mark.parametrize("name", list(edit_operations.SPECIFICATIONS))
def test_the_example_of_an_operation_has_what_it_needs(ask: Ask, repo: Repo, name: str) -> None:
    repo.commit({"api.md": "# API\n\nv1\n\n## Endpoints\n\nText.\n\n## Errors\n\n## Tasks\n\n- [ ] One\n"})
    ask("view_document", operations=[{"file": "api.md", "slug": slug} for slug in ("endpoints", "tasks")])
    asked = ask("edit_document", operation=name).data
    example = json.loads(asked["next_step"].partition("edit_document ")[2])
    assert example["operation"] == name
    answer = ask("edit_document", **example)
    assert not answer.is_error, answer.data
    assert answer.data["next_step"]


def test_a_task_is_changed_moved_and_removed(ask: Ask, repo: Repo) -> None:
    ask("view_document", operations=[{"file": "api.md", "slug": slug} for slug in ("tasks", "endpoints")])
    answer = ask(
        "edit_document",
        operations=[
            {
                "operation": "update_task",
                "file": "api.md",
                "slug": "tasks[0]",
                "criteria": "JSON",
                "note": "n",
            },
            {"operation": "move_task", "file": "api.md", "slug": "tasks[0]", "to_slug": "endpoints"},
            {"operation": "remove_task", "file": "api.md", "slug": "tasks[1]"},
        ],
    )
    changed, moved, removed = answer.data["batch_results"]
    assert (changed["task"], changed["progress"]) == ("tasks[0]", {"completed": 0, "total": 1})
    assert (moved["slug"], moved["task"], moved["task_index"]) == ("endpoints", "endpoints[0]", 0)
    assert moved["progress"] == {"completed": 1, "total": 1}
    assert (removed["removed"], removed["progress"]) == ("task", {"completed": 0, "total": 1})
    text = repo.git("show", "HEAD:api.md")
    assert "Paths begin with /v1.\n\n- [x] Define schemas\n  - Criteria: JSON\n  - Note: n\n\n### S" in text
    assert text.rstrip().endswith("## Tasks\n\n- [ ] Write tests")


def test_words_of_a_task_are_not_taken_away_unread(toolbox: Toolbox, repo: Repo) -> None:
    for fields in (
        {"operation": "remove_task"},
        {"operation": "update_task", "criteria": "other"},
        {"operation": "update_task", "title": "Other"},
    ):
        ask = client_of(toolbox)
        refused = ask("edit_document", file="api.md", slug="tasks[0]", **fields)
        assert refused.data["code"] == "READ_FIRST"
        assert not ask("edit_document", file="api.md", slug="tasks[0]", **fields, dry_run=True).is_error
    ask = client_of(toolbox)
    for fields in (
        {"operation": "update_task", "note": "more"},
        {"operation": "move_task", "to_slug": "endpoints"},
    ):
        assert not ask("edit_document", file="api.md", slug="tasks[0]", **fields).is_error


def test_a_quotation_is_proof_that_it_was_read(toolbox: Toolbox, repo: Repo) -> None:
    answer = client_of(toolbox)("edit_document", file="api.md", old="Finds things.", new="Finds all.")
    assert answer.data["slug"] == "endpoints/search"
    assert "Finds all." in repo.git("show", "HEAD:api.md")


def test_the_same_text_again_makes_no_commit(ask: Ask, repo: Repo) -> None:
    before = repo.head()
    answer = ask("edit_document", file="api.md", old="Finds", new="Finds")
    assert (answer.data["changed"], answer.data["commit"]) == (False, before)


@pytest.mark.parametrize(("old", "matches"), [("e", 7), ("nowhere", 0)])
def test_a_wrong_number_of_matches_is_answered_with_what_would_have_worked(
    ask: Ask, old: str, matches: int
) -> None:
    answer = ask("edit_document", file="api.md", old=old, new="x", slug="tasks" if matches else None)
    assert (answer.data["code"], answer.data["matches"]) == ("MATCH_COUNT", matches)
    assert len(answer.data["lines"]) == matches
    assert not ask("edit_document", **answer.data["example"]).is_error


def test_metadata_may_come_as_json_text(ask: Ask, repo: Repo) -> None:
    answer = ask("edit_document", file="api.md", metadata='{"owner": {"name": "Ada"}, "type": null}')
    assert (answer.data["keys_set"], answer.data["keys_removed"]) == (["owner"], ["type"])
    assert repo.git("show", "HEAD:api.md").startswith("---\nowner:\n  name: Ada\n---\n\n# API")


@pytest.mark.parametrize("metadata", ["", "[1]", "{", "5", "{" * 5000])
def test_a_text_that_is_no_object_is_an_error(ask: Ask, metadata: str) -> None:
    answer = ask("edit_document", file="api.md", metadata=metadata)
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "metadata")
    assert "object" in answer.data["fix"]


@loop_over("count", [0, -1, "0", 1.5, "two", 10**30])
def test_a_count_out_of_range_is_an_error(ask: Ask, count: object) -> None:
    assert ask("edit_document", file="api.md", old="Finds", new="x", count=count).is_error


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("delete_task", "remove_task"),
        ("rename_file", "move_document"),
        ("set_front_matter", "set_metadata"),
        ("replace_txt", "replace_text"),
        ("delete_section", "remove_document"),
    ],
)
def test_other_names_are_understood(ask: Ask, name: str, meant: str) -> None:
    assert meant in ask("edit_document", operation=name, file="api.md").data["fix"]
