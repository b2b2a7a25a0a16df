"""Document types: the built-in ones, and those of the workspace."""

from __future__ import annotations

import pytest

from templates import DocumentType, builtin_types
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.snapshot.document_types import BrokenType, UnknownType, read_type_named, read_types
from workspace.snapshot.snapshot import Snapshot

pytestmark = pytest.mark.smoke

OWN = {
    ".docyard/templates/note/type.toml": 'title = "Note"\nsummary = "A note"\ninstructions = ["Write"]\n',
    ".docyard/templates/note/document.md": "# {title}\n\n## Body\n",
}


def types(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def test_type_of_the_workspace_is_read_at_the_commit(repo: Repo) -> None:
    before = types(repo)
    repo.commit(OWN)
    assert read_type_named(types(repo), "note").sections[0].title == "Body"
    assert set(read_types(types(repo))) == {*builtin_types(), "note"}
    with pytest.raises(UnknownType):
        read_type_named(before, "note")


def test_type_of_the_workspace_replaces_a_built_in_one(repo: Repo) -> None:
    repo.commit({path.replace("note", "runbook"): text for path, text in OWN.items()})
    assert read_type_named(types(repo), "runbook").title == "Note"


def test_broken_type_is_an_error_and_leaves_other_types(repo: Repo) -> None:
    repo.commit(
        {
            ".docyard/templates/half/type.toml": "title = 1\n",
            ".docyard/templates/bad/type.toml": "title = [",
            ".docyard/templates/bad/document.md": "# {title}\n",
            ".docyard/templates/large/type.toml": "#" * 200_000,
            ".docyard/templates/large/document.md": "# {title}\n",
            ".docyard/templates/deep/type.toml": "a." * 5_000 + "a = 1\n",
            ".docyard/templates/deep/document.md": "# {title}\n",
            ".docyard/templates/long/type.toml": "title = " + "9" * 5_000,
            ".docyard/templates/long/document.md": "# {title}\n",
            ".docyard/templates/stray.md": "x",
        }
    )
    found = read_types(types(repo))
    assert isinstance(found["half"], BrokenType)
    assert isinstance(found["bad"], BrokenType)
    assert isinstance(found["large"], BrokenType)
    assert isinstance(found["deep"], BrokenType)
    assert isinstance(found["long"], BrokenType)
    assert isinstance(found["runbook"], DocumentType)
    with pytest.raises(BrokenType, match=r"document\.md"):
        read_type_named(types(repo), "half")


def test_unknown_type_error_suggests_the_nearest(repo: Repo) -> None:
    with pytest.raises(UnknownType) as caught:
        read_type_named(types(repo), "api_spek")
    assert "api_spec" in caught.value.fix
    assert caught.value.details["valid_types"] == list(builtin_types())
