"""The tasks that hits name: complete_task takes their addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.matches import Matcher
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.search.found_tasks import MAX_FOUND_TASKS, find_tasks
from workspace.document.document import Document

LINES = (
    "- [ ] mend the net",
    "- [x] buy rope",
    "  - [ ] of hemp",
    "  - Criteria: 20 m",
    "1. [X] ordered",
    "```",
    "- plain",
    "> - [ ] quoted",
    "---",
    "",
    "text [ ] text",
    "<div>",
    "    - [ ] code",
)
PREAMBLE = "- [ ] Feed the heron first\n\n# Birds\n"
SECTIONS = (
    "# Birds\n\n## Plan\n\n- [x] See a heron\n- [ ] Draw\n  - [ ] the heron's neck\n\n"
    "## Plan\n\n- [ ] A heron\n"
)


@pytest.mark.parametrize("tool", ["search_docs", "search_documents"])
def test_hits_name_tasks_by_address(call_tool: CallTool, repo: Repo, tool: str) -> None:
    repo.commit({"a.md": SECTIONS, "b.md": PREAMBLE, "c.md": "# C\n\nA heron without a task.\n"})
    data = call_tool(tool, query="heron", limit=20).data
    hits = data["hits"] if tool == "search_docs" else data["matches"]
    path_key = "filepath" if tool == "search_docs" else "file"
    tasks = {(hit[path_key], task["slug"]): task for hit in hits for task in hit.get("tasks", ())}
    titles = {address: (task["title"], "done" in task) for address, task in tasks.items()}
    assert sorted(titles.values()) == [
        ("A heron", False),
        ("Feed the heron first", False),
        ("See a heron", True),
        ("the heron's neck", False),
    ]
    assert [hit for hit in hits if hit[path_key] == "c.md" and "tasks" in hit] == []
    for (path, slug), (title, is_done) in titles.items():
        if not is_done:
            call_tool("complete_task", file=path, slug=slug)
            assert f"[x] {title}" in repo.git("show", f"HEAD:{path}")


def test_tasks_at_ref_have_titles_of_that_commit(call_tool: CallTool, repo: Repo) -> None:
    old_commit = repo.commit({"a.md": "# A\n\n- [ ] Find a heron\n"})
    repo.commit({"a.md": "# A\n\n- [x] Find a heron\n"})
    for ref, is_done in ((None, True), (old_commit, False)):
        [hit] = call_tool("search_docs", query="heron", ref=ref).data["hits"]
        assert [("done" in task) for task in hit["tasks"]] == [is_done]


def test_long_title_is_shortened(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"a.md": "# A\n\n- [ ] Find a heron" + " and feed it" * 1_000 + "\n"})
    [hit] = call_tool("search_docs", query="heron").data["hits"]
    [task] = hit["tasks"]
    assert task["title"].startswith("Find a heron and feed it")
    assert task["title"].endswith("…")
    assert len(task["title"]) < 400


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_tasks_of_section_are_those_of_its_document(lines: list[str]) -> None:
    body = "".join(f"{line}\n" for line in lines).encode()
    document = Document.parse(b"# T\n\ntext\n\n## S\n" + body)
    section = next((item for item in document.sections if item.title == "S"), None)
    if section is None or len(document.sections) != len({"T", "S"}):
        return  # a line became a heading, so that the body is more than one section
    expected = [(task.index, task.title, task.is_done) for task in document.tasks(section)]
    assert [(task.index, task.title, task.is_done) for task in find_tasks(body, Matcher(()))] == expected[
        :MAX_FOUND_TASKS
    ]


def test_tasks_with_term_are_preferred() -> None:
    text = b"".join(b"- [ ] task %d\n" % number for number in range(40)) + b"- [x] A heron nests\n"
    assert [task.index for task in find_tasks(text, Matcher(["heron"]))] == ["40"]
    assert [task.index for task in find_tasks(text, Matcher(["owl"]))] == [
        str(number) for number in range(10)
    ]


def test_tasks_after_limit_are_not_read() -> None:
    text = b"- [ ] first\n\n" + b"text\n" * 20_000 + b"- [ ] last\n"
    assert [task.title for task in find_tasks(text, Matcher(()))] == ["first"]
    assert find_tasks(b"- [ ] " + b"x" * 100_000, Matcher(())) == ()
