"""A commit changes only the watched resources whose own bytes differ."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import API
from tools.dispatcher import ToolDispatcher
from tools.resources.contents import InvalidUri
from tools.resources.watch import ResourceWatch, TooManyWatchedResources
from workspace.errors import WorkspaceError

DOCUMENT, SECTION, OTHER_DOCUMENT = "doc:///api.md", "doc:///api.md#endpoints", "doc:///notes/plain.md"


@pytest.fixture
def watch(dispatcher: ToolDispatcher) -> ResourceWatch:
    new_watch = ResourceWatch(dispatcher.context)
    for uri in (DOCUMENT, SECTION, OTHER_DOCUMENT):
        new_watch.add(uri)
    return new_watch


def test_no_notification_without_commit(watch: ResourceWatch, repo: Repo) -> None:
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
        ({"notes/plain.md": "# Plain\n"}, {OTHER_DOCUMENT}),
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
    assert watch.find_changes().uris == (OTHER_DOCUMENT,)
    repo.commit({"more.md": "# More\n"})
    assert watch.find_changes().uris == ()
    repo.commit({"notes/plain.md": "# Plain\n\nNothing of note.\n"})
    assert watch.find_changes().uris == (OTHER_DOCUMENT,)


def test_renamed_document_with_same_text_is_not_notified(watch: ResourceWatch, repo: Repo) -> None:
    repo.git("mv", "api.md", "interface.md")
    repo.commit({})
    assert watch.find_changes().uris == ()
    repo.commit({"interface.md": API.replace("/v1", "/v2")})
    assert set(watch.find_changes().uris) == {DOCUMENT, SECTION}


def test_unsubscribed_resource_is_not_notified(watch: ResourceWatch, repo: Repo) -> None:
    watch.add(DOCUMENT)
    watch.discard([DOCUMENT, SECTION])
    repo.commit({"api.md": "# Other\n"})
    assert watch.find_changes().uris == (DOCUMENT,)
    watch.discard([DOCUMENT, OTHER_DOCUMENT])
    assert watch.is_idle


def test_list_change_is_notified_for_new_and_removed_documents(
    watch: ResourceWatch, dispatcher: ToolDispatcher, repo: Repo
) -> None:
    repo.commit({"new.md": "# New\n"})
    assert not watch.find_changes().is_list_changed, "no client has requested the list"
    watch.record_list(dispatcher.context().snapshot())
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
    snapshot_before = dispatcher.context().snapshot()
    repo.commit({"new.md": "# New\n"})
    watch.add(DOCUMENT)
    watch.find_changes()
    watch.record_list(snapshot_before)
    assert watch.find_changes().is_list_changed


@pytest.mark.parametrize("uri", ["doc:///none.md", "doc:///api.md#none", "file:///etc/passwd", ""])
def test_missing_resource_cannot_be_watched(dispatcher: ToolDispatcher, uri: str) -> None:
    watch = ResourceWatch(dispatcher.context)
    with pytest.raises(WorkspaceError):
        watch.add(uri)
    assert watch.is_idle
    assert watch.add_existing([uri, DOCUMENT, uri, DOCUMENT]) == [DOCUMENT]


def test_resource_at_ref_cannot_be_watched(dispatcher: ToolDispatcher) -> None:
    with pytest.raises(InvalidUri):
        ResourceWatch(dispatcher.context).add("doc:///api.md?ref=main")


def test_number_of_watched_resources_is_limited(
    dispatcher: ToolDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.resources.watch.MAX_WATCHED_RESOURCES", 2)
    watch = ResourceWatch(dispatcher.context)
    assert watch.add_existing([DOCUMENT, SECTION, DOCUMENT]) == [DOCUMENT, SECTION]
    with pytest.raises(TooManyWatchedResources):
        watch.add(OTHER_DOCUMENT)
    watch.add(SECTION)
    watch.discard([SECTION, SECTION])
    with pytest.raises(TooManyWatchedResources):
        watch.add_existing([SECTION, OTHER_DOCUMENT])
    watch.add(OTHER_DOCUMENT)
