"""A commit changes only the watched resources whose own bytes differ."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import API_TEXT
from tools.dispatcher import ToolDispatcher
from tools.resources.contents import InvalidUri
from tools.resources.list import read_listed_documents
from tools.resources.watch import ResourceWatch, TooManyWatchedResources
from workspace.errors import WorkspaceError

DOCUMENT_URI, SECTION_URI, OTHER_DOCUMENT_URI = (
    "doc:///api.md",
    "doc:///api.md#endpoints",
    "doc:///notes/plain.md",
)


@pytest.fixture
def watch(dispatcher: ToolDispatcher) -> ResourceWatch:
    new_watch = ResourceWatch(dispatcher.context)
    for uri in (DOCUMENT_URI, SECTION_URI, OTHER_DOCUMENT_URI):
        new_watch.add(uri)
    return new_watch


def test_no_notification_without_commit(watch: ResourceWatch, repo: Repo) -> None:
    repo.write({"api.md": "# Not committed\n"})
    assert watch.find_changes() == ((), False)
    assert watch.find_changes() == ((), False)


@pytest.mark.parametrize(
    ("files", "updated"),
    [
        ({"api.md": API_TEXT.replace("/v1", "/v2")}, {DOCUMENT_URI, SECTION_URI}),
        ({"api.md": API_TEXT.replace("Finds", "Looks for")}, {DOCUMENT_URI, SECTION_URI}),
        ({"api.md": API_TEXT.replace("Ship it", "Ship it soon")}, {DOCUMENT_URI}),
        ({"api.md": API_TEXT.replace("Introduction", "A longer introduction")}, {DOCUMENT_URI}),
        ({"api.md": "# Empty\n"}, {DOCUMENT_URI, SECTION_URI}),
        ({"notes/plain.md": "# Plain\n"}, {OTHER_DOCUMENT_URI}),
        ({"another.md": "# Another\n"}, set()),
    ],
)
def test_commit_notifies_changed_resources(
    watch: ResourceWatch, repo: Repo, files: dict[str, str | bytes], updated: set[str]
) -> None:
    repo.commit(files)
    assert set(watch.find_changes().uris) == updated
    assert watch.find_changes() == ((), False)


def test_removed_and_restored_resource_is_notified_twice(watch: ResourceWatch, repo: Repo) -> None:
    repo.git("rm", "-q", "notes/plain.md")
    repo.commit({})
    assert watch.find_changes().uris == (OTHER_DOCUMENT_URI,)
    repo.commit({"more.md": "# More\n"})
    assert watch.find_changes().uris == ()
    repo.commit({"notes/plain.md": "# Plain\n\nNothing of note.\n"})
    assert watch.find_changes().uris == (OTHER_DOCUMENT_URI,)


def test_renamed_document_with_same_text_is_not_notified(watch: ResourceWatch, repo: Repo) -> None:
    repo.git("mv", "api.md", "interface.md")
    repo.commit({})
    assert watch.find_changes().uris == ()
    repo.commit({"interface.md": API_TEXT.replace("/v1", "/v2")})
    assert set(watch.find_changes().uris) == {DOCUMENT_URI, SECTION_URI}


def test_unsubscribed_resource_is_not_notified(watch: ResourceWatch, repo: Repo) -> None:
    watch.add(DOCUMENT_URI)
    watch.discard([DOCUMENT_URI, SECTION_URI])
    repo.commit({"api.md": "# Other\n"})
    assert watch.find_changes().uris == (DOCUMENT_URI,)
    watch.discard([DOCUMENT_URI, OTHER_DOCUMENT_URI])
    assert watch.is_idle


def test_list_change_is_notified_for_new_and_removed_documents(
    watch: ResourceWatch, dispatcher: ToolDispatcher, repo: Repo
) -> None:
    repo.commit({"new.md": "# New\n"})
    assert not watch.find_changes().is_list_changed, "no client has requested the list"
    watch.record_list(read_listed_documents(dispatcher.context()))
    assert not watch.find_changes().is_list_changed
    repo.commit({"api.md": "# Other\n"})
    assert not watch.find_changes().is_list_changed
    repo.commit({"newer.md": "# Newer\n"})
    assert watch.find_changes().is_list_changed
    assert not watch.find_changes().is_list_changed
    repo.git("rm", "-q", "new.md")
    repo.commit({})
    assert watch.find_changes().is_list_changed


def test_late_list_change_is_still_notified(dispatcher: ToolDispatcher, repo: Repo) -> None:
    watch = ResourceWatch(dispatcher.context)
    documents_before = read_listed_documents(dispatcher.context())
    repo.commit({"new.md": "# New\n"})
    watch.add(DOCUMENT_URI)
    watch.find_changes()
    watch.record_list(documents_before)
    assert watch.find_changes().is_list_changed


@pytest.mark.parametrize("uri", ["doc:///none.md", "doc:///api.md#none", "file:///etc/passwd", ""])
def test_missing_resource_cannot_be_watched(dispatcher: ToolDispatcher, uri: str) -> None:
    watch = ResourceWatch(dispatcher.context)
    with pytest.raises(WorkspaceError):
        watch.add(uri)
    assert watch.is_idle
    assert watch.add_existing([uri, DOCUMENT_URI, uri, DOCUMENT_URI]) == [DOCUMENT_URI]


def test_resource_at_ref_cannot_be_watched(dispatcher: ToolDispatcher) -> None:
    with pytest.raises(InvalidUri):
        ResourceWatch(dispatcher.context).add("doc:///api.md?ref=main")


def test_number_of_watched_resources_is_limited(
    dispatcher: ToolDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.resources.watch.MAX_WATCHED_RESOURCES", 2)
    watch = ResourceWatch(dispatcher.context)
    assert watch.add_existing([DOCUMENT_URI, SECTION_URI, DOCUMENT_URI]) == [DOCUMENT_URI, SECTION_URI]
    with pytest.raises(TooManyWatchedResources):
        watch.add(OTHER_DOCUMENT_URI)
    watch.add(SECTION_URI)
    watch.discard([SECTION_URI, SECTION_URI])
    with pytest.raises(TooManyWatchedResources):
        watch.add_existing([SECTION_URI, OTHER_DOCUMENT_URI])
    watch.add(OTHER_DOCUMENT_URI)
