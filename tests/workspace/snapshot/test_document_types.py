"""Document types: built-in types and types of the workspace."""

from __future__ import annotations

import pytest

from templates import DocumentType, builtin_types
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.snapshot.document_types import BrokenType, UnknownType, read_document_type, read_document_types
from workspace.snapshot.snapshot import Snapshot
from workspace.snapshot.type_names import list_type_names

pytestmark = pytest.mark.smoke

NOTE_TYPE_FILES = {
    ".docyard/templates/note/type.toml": 'title = "Note"\nsummary = "A note"\ninstructions = ["Write"]\n',
    ".docyard/templates/note/document.md": "# {title}\n\n## Body\n",
}


def take_snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def test_type_of_the_workspace_is_read_at_the_commit(repo: Repo) -> None:
    old_snapshot = take_snapshot(repo)
    repo.commit(NOTE_TYPE_FILES)
    assert read_document_type(take_snapshot(repo), "note").sections[0].title == "Body"
    assert set(read_document_types(take_snapshot(repo))) == {*builtin_types(), "note"} - {"skill"}
    with pytest.raises(UnknownType):
        read_document_type(old_snapshot, "note")


def test_type_of_the_workspace_replaces_a_built_in_type(repo: Repo) -> None:
    repo.commit({path.replace("note", "runbook"): text for path, text in NOTE_TYPE_FILES.items()})
    assert read_document_type(take_snapshot(repo), "runbook").title == "Note"


def test_broken_type_is_an_error_and_other_types_are_read(repo: Repo) -> None:
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
    types = read_document_types(take_snapshot(repo))
    assert isinstance(types["half"], BrokenType)
    assert isinstance(types["bad"], BrokenType)
    assert isinstance(types["large"], BrokenType)
    assert isinstance(types["deep"], BrokenType)
    assert isinstance(types["long"], BrokenType)
    assert isinstance(types["runbook"], DocumentType)
    with pytest.raises(BrokenType, match=r"document\.md"):
        read_document_type(take_snapshot(repo), "half")


def test_unknown_type_error_suggests_the_nearest_type(repo: Repo) -> None:
    with pytest.raises(UnknownType) as error_info:
        read_document_type(take_snapshot(repo), "api_spek")
    assert "api_spec" in error_info.value.fix
    assert error_info.value.details["valid_types"] == [name for name in builtin_types() if name != "skill"]


def test_skill_is_a_built_in_type_only_with_the_setting(repo: Repo) -> None:
    repo.commit({"docyard.toml": "skills = true\n"})
    assert read_document_type(take_snapshot(repo), "skill").title == "Skill"
    assert list_type_names(take_snapshot(repo)) == list(builtin_types())
    repo.commit({path.replace("note", "skill"): text for path, text in NOTE_TYPE_FILES.items()})
    assert read_document_type(take_snapshot(repo), "skill").title == "Note"
    repo.commit({"docyard.toml": ""})
    assert read_document_type(take_snapshot(repo), "skill").title == "Note"
    repo.commit({"docyard.toml": "skills = 1\n"})
    assert "skill" in list_type_names(take_snapshot(repo))
