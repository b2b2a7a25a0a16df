"""list_documents: selected fields, paths only, and folders of alike documents as one row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from index.storage.keys import USER_KEYS
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.documents.alike_documents import MIN_ALIKE_DOCUMENTS
from tools.documents.list_documents import MAX_OPEN_TASKS
from tools.pages import write_list_cursor

DECISION_COUNT = 12
DECISION = (
    "---\ntype: decision\n---\n\n# Decision {0}\n\n## Context\n\nIt is late.\n\n## Result\n\nYes, {0}.\n"
)
DECISIONS = [f"decisions/{number:02}.md" for number in range(DECISION_COUNT)]
FOLDER_ROW = {
    "folder": "decisions",
    "documents": DECISION_COUNT,
    "type": "decision",
    "sections": ["context", "result"],
    "first": DECISIONS[0],
    "last": DECISIONS[-1],
}
SHORT_FOLDER_ROW = {name: value for name, value in FOLDER_ROW.items() if name not in ("type", "sections")}
OTHER_PATHS = ["api.md", "notes/plain.md"]


@pytest.fixture
def folded_commit(repo: Repo) -> str:
    """Return a commit that adds a folder of alike documents."""
    return repo.commit({path: DECISION.format(path[-5:-3]) for path in DECISIONS})


def list_documents(call_tool: CallTool, **fields: object) -> list[dict[str, Any]]:
    """Return the entries of a list; the call must succeed."""
    answer = call_tool("list_documents", **fields)
    assert not answer.is_error, answer.data
    entries: list[dict[str, Any]] = answer.data["documents"]
    return entries


def list_names(call_tool: CallTool, **fields: object) -> list[str]:
    """Return the path of each document, and the folder of each row with a final `/`."""
    return [
        entry["path"] if "path" in entry else entry["folder"] + "/"
        for entry in list_documents(call_tool, **fields)
    ]


# Fields


def test_list_without_fields_has_every_field_except_open_tasks(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"api.md": (repo.path / "api.md").read_text().replace("---\n", "---\ntags: [web]\n", 1)})
    assert list_documents(call_tool) == [
        {
            "path": "api.md",
            "type": "api_spec",
            "title": "API",
            "tags": ["web"],
            "sections": {"endpoints": ["endpoints/search"], "tasks": {"total": 3, "completed": 1}},
            "tasks": {"total": 3, "completed": 1},
        },
        {"path": "notes/plain.md", "type": None, "title": "Plain", "sections": {}},
    ]


def test_fields_select_fields_of_each_entry(call_tool: CallTool) -> None:
    assert list_documents(call_tool, fields=["title", "tasks"]) == [
        {"path": "api.md", "title": "API", "tasks": {"total": 3, "completed": 1}},
        {"path": "notes/plain.md", "title": "Plain"},
    ]
    assert list_documents(call_tool, fields=["type", "type"]) == [
        {"path": "api.md", "type": "api_spec"},
        {"path": "notes/plain.md", "type": None},
    ]


def test_empty_fields_list_paths_of_documents(call_tool: CallTool, folded_commit: str) -> None:
    assert list_documents(call_tool, fields=[]) == [
        {"path": "api.md"},
        SHORT_FOLDER_ROW,
        {"path": "notes/plain.md"},
    ]


def test_fields_as_json_text_are_accepted(call_tool: CallTool) -> None:
    expected = list_documents(call_tool, fields=["title", "tags"])
    assert list_documents(call_tool, fields='["title", "tags"]') == expected
    page = call_tool("list_documents", fields='["title"]', limit=1)
    last_page = call_tool("list_documents", fields=["title"], limit=1, cursor=page.data["next_cursor"])
    assert last_page.data["documents"] == [{"path": "notes/plain.md", "title": "Plain"}]


def test_open_tasks_have_addresses_that_complete_task_accepts(call_tool: CallTool) -> None:
    [entry, other_entry] = list_documents(call_tool, fields=["open_tasks"])
    assert entry == {
        "path": "api.md",
        "open_tasks": [
            {"slug": "tasks[1]", "title": "Write tests"},
            {"slug": "tasks[2]", "title": "Ship it"},
        ],
    }
    assert other_entry == {"path": "notes/plain.md"}
    assert not call_tool("complete_task", file="api.md", slug=entry["open_tasks"][0]["slug"]).is_error
    [entry, _] = list_documents(call_tool, fields=["open_tasks"])
    assert [task["slug"] for task in entry["open_tasks"]] == ["tasks[2]"]


def test_many_open_tasks_are_cut_with_their_number(call_tool: CallTool, repo: Repo) -> None:
    count = MAX_OPEN_TASKS + 3
    tasks = "".join(f"- [ ] Step {number}\n" for number in range(count))
    repo.commit({"plan.md": f"# Plan\n\n## Tasks\n\n{tasks}"})
    [entry] = list_documents(call_tool, path="plan.md", fields=["open_tasks"])
    assert len(entry["open_tasks"]) == MAX_OPEN_TASKS
    assert entry["open_tasks"][-1]["slug"] == f"tasks[{MAX_OPEN_TASKS - 1}]"
    assert entry["open_tasks_total"] == count


@pytest.mark.parametrize(
    ("fields", "fix"),
    [
        (["titel"], "Did you mean 'title'?"),
        (["title", "Type"], None),
        (["zzzzzzzzzz"], "Give some of: type, title, tags, sections, tasks, open_tasks."),
        ([""], None),
        (["x" * 10_000], None),
        ("title", None),
        ('{"title": true}', None),
        ([1], None),
        (7, None),
    ],
)
def test_invalid_fields_return_working_example(call_tool: CallTool, fields: object, fix: str | None) -> None:
    for other_fields in ({}, {"paths_only": True}):
        answer = call_tool("list_documents", fields=fields, **other_fields)
        assert answer.is_error
        assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "fields")
        assert fix is None or fix in answer.data["fix"]
        assert "fields" in answer.data["usage"]
        assert len(json.dumps(answer.data)) < 3_000
        assert not call_tool("list_documents", **answer.data["example"]).is_error


# Paths only


def test_paths_only_lists_paths_without_documents(call_tool: CallTool, folded_commit: str) -> None:
    data = call_tool("list_documents", paths_only=True).data
    paths = ["api.md", *DECISIONS, "notes/plain.md"]
    assert data == {"paths": paths, "commit": folded_commit, "total": len(paths)}
    assert call_tool("list_documents", paths_only="true").data == data
    assert call_tool("list_documents", paths_only=False).data == call_tool("list_documents").data
    assert call_tool("list_documents", paths_only="yes").data["field"] == "paths_only"


def test_paths_only_with_filters_lists_matching_paths(call_tool: CallTool, folded_commit: str) -> None:
    data = call_tool("list_documents", paths_only=True, has_open_tasks=True).data
    assert (data["paths"], data["total"], "documents" in data) == (["api.md"], 1, False)
    data = call_tool("list_documents", paths_only=True, type="decision").data
    assert data["paths"] == DECISIONS
    data = call_tool("list_documents", paths_only=True, path="decisions", fields=["title"], limit=2).data
    assert data["paths"] == DECISIONS[:2]
    data = call_tool("list_documents", paths_only=True, tag="none").data
    assert (data["paths"], data["total"]) == ([], 0)
    assert data["next_step"] == "No document matches: omit type, tag or has_open_tasks"


def test_list_of_unknown_type_names_the_types(call_tool: CallTool, folded_commit: str) -> None:
    data = call_tool("list_documents", type="decision_record").data
    assert data["documents"] == []
    assert data["next_step"] == "No document has this type; the types are decision, api_spec"
    data = call_tool("list_documents", type="decision", tag="none").data
    assert data["next_step"] == "No document matches: omit type, tag or has_open_tasks"


def test_pages_of_paths_list_each_path_once(call_tool: CallTool, folded_commit: str) -> None:
    page = call_tool("list_documents", paths_only=True, limit=5).data
    paths = list(page["paths"])
    while cursor := page.get("next_cursor"):
        assert call_tool("list_documents", limit=5, cursor=cursor).data["code"] == "INVALID_CURSOR"
        page = call_tool("list_documents", paths_only=True, limit=5, cursor=cursor).data
        paths += page["paths"]
    assert paths == ["api.md", *DECISIONS, "notes/plain.md"]


# Folders of alike documents


def test_folder_of_alike_documents_is_one_row(call_tool: CallTool, folded_commit: str) -> None:
    data = call_tool("list_documents").data
    assert data["documents"][1] == FOLDER_ROW
    assert [entry.get("path") for entry in data["documents"]] == ["api.md", None, "notes/plain.md"]
    assert data["total"] == DECISION_COUNT + 2
    assert (data["commit"], "next_step" in data) == (folded_commit, False)
    assert list_names(call_tool, fields=["title"]) == ["api.md", "decisions/", "notes/plain.md"]


@pytest.mark.parametrize("count", [MIN_ALIKE_DOCUMENTS - 1, MIN_ALIKE_DOCUMENTS])
def test_alike_documents_are_one_row_from_a_minimum_number_on(
    call_tool: CallTool, repo: Repo, count: int
) -> None:
    repo.commit({path: DECISION.format(0) for path in DECISIONS[:count]})
    is_folded = count == MIN_ALIKE_DOCUMENTS
    assert list_names(call_tool) == [
        "api.md",
        *(["decisions/"] if is_folded else DECISIONS[:count]),
        "notes/plain.md",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"expand": "decisions"},
        {"expand": "./decisions/"},
        {"type": "decision"},
        {"tag": "late"},
        {"has_open_tasks": False, "path": "decisions"},
        {"path": "decisions"},
        {"path": "./decisions/"},
    ],
)
def test_folder_is_listed_in_full_if_expanded_or_filtered(
    call_tool: CallTool, repo: Repo, fields: dict[str, object]
) -> None:
    text = DECISION.replace("---\n", "---\ntags: [late]\n", 1)
    repo.commit({path: text.format(path[-5:-3]) for path in DECISIONS})
    names = list_names(call_tool, **fields)
    assert [name for name in names if name not in OTHER_PATHS] == DECISIONS


def test_row_of_alike_documents_lists_open_tasks_with_their_files(call_tool: CallTool, repo: Repo) -> None:
    task = "\n- [ ] Decide\n- [x] Done\n"
    repo.commit({path: DECISION + (task if path in DECISIONS[2:4] else "") for path in DECISIONS})
    assert list_names(call_tool) == ["api.md", "decisions/", "notes/plain.md"]
    entries = list_documents(call_tool, fields=["title", "open_tasks"])
    assert [entry.get("path") for entry in entries] == ["api.md", None, "notes/plain.md"]
    row = entries[1]
    assert row["open_tasks"] == [
        {"file": path, "slug": "result[0]", "title": "Decide"} for path in DECISIONS[2:4]
    ]
    assert "open_tasks_total" not in row
    file, slug, _ = row["open_tasks"][0].values()
    assert not call_tool("complete_task", file=file, slug=slug).is_error


def test_many_open_tasks_of_a_row_are_cut_with_their_number(call_tool: CallTool, repo: Repo) -> None:
    tasks = "".join(f"- [ ] Task {number}\n" for number in range(MAX_OPEN_TASKS // DECISION_COUNT + 1))
    repo.commit(dict.fromkeys(DECISIONS, DECISION + "\n" + tasks))
    row = list_documents(call_tool, fields=["open_tasks"])[1]
    assert len(row["open_tasks"]) == MAX_OPEN_TASKS
    assert row["open_tasks_total"] == DECISION_COUNT * tasks.count("\n") > MAX_OPEN_TASKS


def test_expanded_folder_leaves_other_folders_folded(call_tool: CallTool, repo: Repo) -> None:
    folders = ("records/a", "records/b")
    repo.commit({f"{folder}/{number}.md": DECISION for folder in folders for number in range(9)})
    assert list_names(call_tool, path="records") == ["records/a/", "records/b/"]
    paths = [f"records/a/{number}.md" for number in range(9)]
    assert list_names(call_tool, path="records", expand="records/a") == [*paths, "records/b/"]
    # The documents of a folder are those directly in it.
    assert list_names(call_tool, path="records", expand="records") == ["records/a/", "records/b/"]


def test_cursor_within_a_folder_lists_its_other_documents(call_tool: CallTool, repo: Repo) -> None:
    """Use a cursor of version 0.1.0, whose pages could end within a folder of alike documents."""
    repo.commit(dict.fromkeys(DECISIONS, DECISION))
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    cursor = write_list_cursor(USER_KEYS, DECISIONS[3], tree, [".", None, None, None])
    page = call_tool("list_documents", cursor=cursor, limit=2).data
    paths = [entry["path"] for entry in page["documents"]]
    while cursor := page.get("next_cursor"):
        page = call_tool("list_documents", cursor=cursor, limit=2).data
        paths += [entry["path"] for entry in page["documents"]]
    assert paths == [*DECISIONS[4:], "notes/plain.md"]


@pytest.mark.parametrize("folder", ["decision", "nothing", "../decisions", "x" * 10_000])
def test_expand_of_missing_folder_is_refused(call_tool: CallTool, folded_commit: str, folder: str) -> None:
    answer = call_tool("list_documents", expand=folder)
    assert answer.is_error
    if folder == "decision":
        assert (answer.data["field"], answer.data["fix"]) == ("expand", "Did you mean 'decisions'?")
        assert answer.data["example"]["expand"] == "decisions"


@pytest.mark.parametrize("folder", ["api.md", "", "."])
def test_expand_of_folder_without_row_changes_no_row(
    call_tool: CallTool, folded_commit: str, folder: str
) -> None:
    answer = call_tool("list_documents", expand=folder)
    assert not answer.is_error
    assert answer.data == call_tool("list_documents").data


def test_expand_with_list_value_is_refused(call_tool: CallTool, folded_commit: str) -> None:
    answer = call_tool("list_documents", expand=["decisions"])
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "expand")
    assert not call_tool("list_documents", **answer.data["example"]).is_error


def test_documents_that_differ_in_type_or_sections_are_listed_individually(
    call_tool: CallTool, repo: Repo
) -> None:
    unlike_texts = {
        "decisions/00-index.md": "# Index\n\n## All of them\n\nA list.\n",
        "decisions/05-other-type.md": DECISION.replace("decision\n", "idea\n"),
        "decisions/06-more-sections.md": DECISION + "\n## Later\n\nMore.\n",
        "decisions/07-no-section.md": "Words.\n",
        "decisions/old/01.md": DECISION,
    }
    repo.commit({path: DECISION.format(path) for path in DECISIONS} | unlike_texts)
    entries = list_documents(call_tool)
    assert [entry for entry in entries if "folder" in entry] == [FOLDER_ROW]
    assert [entry["path"] for entry in entries if "path" in entry] == sorted([*OTHER_PATHS, *unlike_texts])
    # Sections below the top level may differ.
    repo.commit({DECISIONS[3]: DECISION.replace("It is late.", "It is late.\n\n### Reasons\n\nMany.")})
    assert FOLDER_ROW in list_documents(call_tool)


def test_folder_with_two_groups_of_alike_documents_has_two_rows(call_tool: CallTool, repo: Repo) -> None:
    meeting = "# Meeting\n\n## Agenda\n\nNothing.\n"
    repo.commit({f"log/{number:02}.md": (DECISION, meeting)[number % 2] for number in range(20)})
    rows = list_documents(call_tool, path="log", fields=[])
    assert len(rows) == 20
    rows = [entry for entry in list_documents(call_tool) if "folder" in entry]
    assert [(row["folder"], row["type"], row["documents"]) for row in rows] == [
        ("log", "decision", 10),
        ("log", None, 10),
    ]
    assert [(row["first"], row["last"]) for row in rows] == [
        ("log/00.md", "log/18.md"),
        ("log/01.md", "log/19.md"),
    ]


def test_documents_without_type_and_sections_are_not_folded(call_tool: CallTool, repo: Repo) -> None:
    paths = [f"words/{number}.md" for number in range(9)]
    repo.commit(dict.fromkeys(paths, "Words.\n"))
    assert list_names(call_tool) == [*OTHER_PATHS, *paths]


def test_pages_of_one_entry_list_each_row_and_document_once(call_tool: CallTool, repo: Repo) -> None:
    meeting = "# Meeting\n\n## Agenda\n\nNothing.\n"
    repo.commit({f"log/{number:02}.md": (DECISION, meeting)[number % 2] for number in range(20)})
    repo.commit({"log/05-a.md": "Words.\n", "log/30.md": "More words.\n"})
    expected = list_documents(call_tool)
    assert sum("folder" in entry for entry in expected) == 2
    page = call_tool("list_documents", limit=1).data
    entries = list(page["documents"])
    while cursor := page.get("next_cursor"):
        assert len(page["documents"]) == 1
        assert page["total"] == 24
        page = call_tool("list_documents", limit=1, cursor=cursor).data
        entries += page["documents"]
    assert entries == expected
    assert len(page["documents"]) == 1


def test_cursor_of_folded_list_is_refused_for_expanded_list(call_tool: CallTool, folded_commit: str) -> None:
    cursor = call_tool("list_documents", limit=2).data["next_cursor"]
    for fields in ({"expand": "decisions"}, {"fields": ["title"]}, {"paths_only": True}):
        answer = call_tool("list_documents", limit=2, cursor=cursor, **fields)
        assert answer.data["code"] == "INVALID_CURSOR"
    [entry] = call_tool("list_documents", limit=2, cursor=cursor).data["documents"]
    assert entry["path"] == "notes/plain.md"


def test_pages_of_expanded_folder_list_each_document_once(call_tool: CallTool, folded_commit: str) -> None:
    page = call_tool("list_documents", expand="decisions", limit=3).data
    paths = [entry["path"] for entry in page["documents"]]
    while cursor := page.get("next_cursor"):
        page = call_tool("list_documents", expand="decisions", limit=3, cursor=cursor).data
        paths += [entry["path"] for entry in page["documents"]]
    assert paths == ["api.md", *DECISIONS, "notes/plain.md"]


def test_list_at_ref_folds_documents_of_that_commit(
    call_tool: CallTool, repo: Repo, folded_commit: str
) -> None:
    repo.commit(dict.fromkeys(DECISIONS[:6], "# Other\n\n## Own words\n"))
    data = call_tool("list_documents", ref=folded_commit).data
    assert (data["documents"][1], data["commit"]) == (FOLDER_ROW, folded_commit)
    assert list_names(call_tool) == ["api.md", *DECISIONS, "notes/plain.md"]
    data = call_tool("list_documents", ref=folded_commit, paths_only=True).data
    assert (data["paths"][1:-1], data["commit"]) == (DECISIONS, folded_commit)
    [entry, *_] = list_documents(call_tool, ref=folded_commit, expand="decisions", path="decisions/00.md")
    assert entry["title"] == "Decision 00"
    assert list_documents(call_tool, ref=folded_commit, fields=["title"])[1] == SHORT_FOLDER_ROW
    answer = call_tool("list_documents", ref=folded_commit, fields=["titel"])
    assert answer.data["code"] == "INVALID_ARGUMENTS"
    assert not call_tool("list_documents", **answer.data["example"]).is_error


def test_unreadable_document_of_folder_is_listed_individually(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({path: DECISION.format(path) for path in DECISIONS})
    repo.commit({"decisions/99.md": "# Large\n\n" + "A line of a large text.\n" * 380_000})
    entries = list_documents(call_tool)
    assert entries[1] == FOLDER_ROW
    assert (entries[2]["path"], entries[2]["type"]) == ("decisions/99.md", None)
    assert entries[2]["hints"]


def test_row_has_type_from_folder_manifest(call_tool: CallTool, repo: Repo) -> None:
    text = "# Decision\n\n## Context\n\nIt is late.\n"
    repo.commit(dict.fromkeys(DECISIONS, text))
    repo.commit({"decisions/.taxonomy.toml": "[metadata]\ntype = 'decision'\n"})
    assert {entry["type"] for entry in list_documents(call_tool, path="decisions")} == {"decision"}
    [row] = [entry for entry in list_documents(call_tool) if "folder" in entry]
    assert (row["type"], row["documents"]) == ("decision", DECISION_COUNT)
