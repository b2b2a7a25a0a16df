"""What a diff of view_history shows in full counts as read, and what it shows in part does not."""

from __future__ import annotations

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import Ask, client_of
from tools.registry import Toolbox
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace

LONG = "".join(f"Line {number}.\n" for number in range(20))


@pytest.fixture
def ask(repo: Repo) -> Ask:
    workspace = Workspace.open(repo.path, durable=False)
    return client_of(Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False))


def is_refused(ask: Ask, slug: str) -> bool:
    """Return True if the section may not be overwritten unread; nothing is written."""
    answer = ask(
        "edit_document", operation="update_content", file="a.md", slug=slug, content="New.", dry_run=True
    )
    assert not answer.is_error or answer.data["code"] == "READ_FIRST"
    return answer.is_error


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_sections_of_an_added_document_were_read(ask: Ask, repo: Repo, ending: str) -> None:
    text = f"# A\n\nIntroduction.\n\n## One\n\nFirst.\n\n\nLast.\n\n## Two\n\n{LONG}".replace("\n", ending)
    repo.commit({"a.md": text.encode()})
    ask("view_history", file="a.md")  # without diffs
    assert is_refused(ask, "one")  # which shows that section, and no other
    assert is_refused(ask, "two")
    repo.commit({"a.md": text.replace("First", "1st").replace("Line", "Row").encode()})
    ask("view_history", file="a.md", diff=True)
    assert [is_refused(ask, slug) for slug in ("_preamble", "one", "two")] == [False] * 3


def test_section_was_read_only_where_its_every_line_is_shown(ask: Ask, repo: Repo) -> None:
    repo.commit({"a.md": f"# A\n\n## One\n\nWords.\n\n## Two\n\n{LONG}"})
    repo.commit({"a.md": f"# A\n\n## One\n\nOther words.\n\n## Two\n\n{LONG}"})
    ask("view_history", file="a.md", diff=True, limit=1)
    assert [is_refused(ask, slug) for slug in ("one", "two")] == [False, True]


def test_text_before_a_change_was_read_where_it_came_back(ask: Ask, repo: Repo) -> None:
    old = repo.commit({"a.md": "# A\n\n## One\n\nOld words.\n"})
    repo.commit({"a.md": "# A\n\n## One\n\nNew words.\n"})
    ask("view_history", file="a.md", slug="one", limit=1)
    repo.git("checkout", old, "--", "a.md")
    repo.commit({})
    assert not is_refused(ask, "one")


def test_text_that_was_changed_since_was_not_read(ask: Ask, repo: Repo) -> None:
    repo.commit({"a.md": "# A\n\n## One\n\nWords.\n"})
    ask("view_history", file="a.md", slug="one")
    repo.commit({"a.md": "# A\n\n## One\n\nWords of somebody else.\n"})
    assert is_refused(ask, "one")
