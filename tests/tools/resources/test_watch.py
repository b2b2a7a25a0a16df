"""Which watched resources a commit has changed: those whose own bytes differ, and no other."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import API
from tools.registry import Toolbox
from tools.resources.contents import InvalidUri
from tools.resources.watch import TooManyWatched, Watch
from workspace.errors import WorkspaceError

DOCUMENT, SECTION, OTHER = "doc:///api.md", "doc:///api.md#endpoints", "doc:///notes/plain.md"


@pytest.fixture
def watch(toolbox: Toolbox) -> Watch:
    found = Watch(toolbox.context)
    for uri in (DOCUMENT, SECTION, OTHER):
        found.add(uri)
    return found


def test_nothing_is_told_without_a_commit(watch: Watch, repo: Repo) -> None:
    repo.write({"api.md": "# Not committed\n"})
    assert watch.find_changes() == ((), False)
    assert watch.find_changes() == ((), False)


@pytest.mark.parametrize(
    ("files", "updated"),
    [
        ({"api.md": API.replace("/v1", "/v2")}, {DOCUMENT, SECTION}),
        ({"api.md": API.replace("Finds", "Looks for")}, {DOCUMENT, SECTION}),
        ({"api.md": API.replace("Ship it", "Ship it soon")}, {DOCUMENT}),
        ({"api.md": API.replace("Introduction", "A longer introduction")}, {DOCUMENT}),
        ({"api.md": "# Empty\n"}, {DOCUMENT, SECTION}),
        ({"notes/plain.md": "# Plain\n"}, {OTHER}),
        ({"another.md": "# Another\n"}, set()),
    ],
)
def test_a_commit_tells_of_what_it_changes(
    watch: Watch, repo: Repo, files: dict[str, str | bytes], updated: set[str]
) -> None:
    repo.commit(files)
    assert set(watch.find_changes().updated) == updated
    assert watch.find_changes() == ((), False)


def test_what_goes_and_comes_back_is_told_of_twice(watch: Watch, repo: Repo) -> None:
    repo.git("rm", "-q", "notes/plain.md")
    repo.commit({})
    assert watch.find_changes().updated == (OTHER,)
    repo.commit({"more.md": "# More\n"})
    assert watch.find_changes().updated == ()
    repo.commit({"notes/plain.md": "# Plain\n\nNothing of note.\n"})
    assert watch.find_changes().updated == (OTHER,)


def test_what_only_moves_has_not_changed(watch: Watch, repo: Repo) -> None:
    repo.git("mv", "api.md", "interface.md")
    repo.commit({})
    assert watch.find_changes().updated == ()
    repo.commit({"interface.md": API.replace("/v1", "/v2")})
    assert set(watch.find_changes().updated) == {DOCUMENT, SECTION}


def test_what_is_watched_no_more_is_not_told_of(watch: Watch, repo: Repo) -> None:
    watch.add(DOCUMENT)
    watch.discard([DOCUMENT, SECTION])
    repo.commit({"api.md": "# Other\n"})
    assert watch.find_changes().updated == (DOCUMENT,)
    watch.discard([DOCUMENT, OTHER])
    assert watch.is_idle


def test_the_list_is_told_of_when_documents_come_or_go(watch: Watch, toolbox: Toolbox, repo: Repo) -> None:
    repo.commit({"new.md": "# New\n"})
    assert not watch.find_changes().listed, "no client knows the list"
    watch.record_list(toolbox.context().snapshot())
    assert not watch.find_changes().listed
    repo.commit({"api.md": "# Other\n"})
    assert not watch.find_changes().listed
    repo.commit({"newer.md": "# Newer\n"})
    assert watch.find_changes().listed
    assert not watch.find_changes().listed
    repo.git("rm", "-q", "new.md")
    repo.commit({})
    assert watch.find_changes().listed


def test_a_list_that_was_told_late_is_still_compared(toolbox: Toolbox, repo: Repo) -> None:
    watch = Watch(toolbox.context)
    before = toolbox.context().snapshot()
    repo.commit({"new.md": "# New\n"})
    watch.add(DOCUMENT)
    watch.find_changes()
    watch.record_list(before)
    assert watch.find_changes().listed


@pytest.mark.parametrize("uri", ["doc:///none.md", "doc:///api.md#none", "file:///etc/passwd", ""])
def test_what_there_is_not_cannot_be_watched(toolbox: Toolbox, uri: str) -> None:
    watch = Watch(toolbox.context)
    with pytest.raises(WorkspaceError):
        watch.add(uri)
    assert watch.is_idle
    assert watch.add_all([uri, DOCUMENT, uri, DOCUMENT]) == [DOCUMENT]


def test_what_stands_at_a_ref_is_not_watched(toolbox: Toolbox) -> None:
    with pytest.raises(InvalidUri):
        Watch(toolbox.context).add("doc:///api.md?ref=main")


def test_so_many_are_watched_and_no_more(toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.resources.watch.MAX_WATCHED", 2)
    watch = Watch(toolbox.context)
    assert watch.add_all([DOCUMENT, SECTION, DOCUMENT]) == [DOCUMENT, SECTION]
    with pytest.raises(TooManyWatched):
        watch.add(OTHER)
    watch.add(SECTION)
    watch.discard([SECTION, SECTION])
    with pytest.raises(TooManyWatched):
        watch.add_all([SECTION, OTHER])
    watch.add(OTHER)
