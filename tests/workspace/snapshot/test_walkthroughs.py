"""Walkthroughs of a commit are listed by type and found by path or title."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo, create_empty_repository
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.snapshot import walkthroughs
from workspace.snapshot.snapshot import Snapshot
from workspace.snapshot.walkthroughs import (
    WalkthroughNotFound,
    find_walkthrough,
    list_walkthroughs,
    read_walkthrough,
)

pytestmark = pytest.mark.smoke


def format_walkthrough(title: str, type: str = "walkthrough") -> str:
    return f"---\ntype: {type}\n---\n\n# {title}\n\n## One\n\nText.\n"


@pytest.fixture(autouse=True)
def clear_caches() -> None:
    walkthroughs._DOCUMENTS.clear_caches()


def take_snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def list_ids(snapshot: Snapshot) -> list[str]:
    return [walkthrough.id for walkthrough in list_walkthroughs(snapshot)]


def test_walkthroughs_are_listed_in_order_of_paths(repo: Repo) -> None:
    repo.commit(
        {
            "b.md": format_walkthrough("B"),
            "a/c.markdown": format_walkthrough("C", "[tutorial, walkthrough]"),
            "d.md": format_walkthrough("D", '"walk\\u0074hrough"'),
            "crlf.md": format_walkthrough("E").replace("\n", "\r\n"),
            "bom.md": "\ufeff" + format_walkthrough("F"),
            "ended.md": "---\ntype: walkthrough\n...\n# G\n",
            "other.md": format_walkthrough("X", "runbook"),
            "mention.md": "---\ntype: runbook\ntitle: A walkthrough\n---\n\n# X\n",
            "body.md": "# X\n\n---\ntype: walkthrough\n---\n",
            "open.md": "---\ntype: walkthrough\n\n# X\n",
            "broken.md": "---\ntype: walkthrough\ntags: [\n---\n\n# X\n",
            "text.txt": format_walkthrough("X"),
            ".hidden/x.md": format_walkthrough("X"),
        }
    )
    assert list_ids(take_snapshot(repo)) == [
        "a/c.markdown",
        "b.md",
        "bom.md",
        "crlf.md",
        "d.md",
        "ended.md",
    ]


def test_manifest_sets_the_type_of_documents_without_one(repo: Repo) -> None:
    repo.commit(
        {
            "guides/.taxonomy.toml": '[metadata]\ntype = "walkthrough"\n',
            "guides/own.md": format_walkthrough("X", "runbook"),
            "guides/plain.md": "# Plain\n\n## One\n",
        }
    )
    ids = list_ids(take_snapshot(repo))
    assert "guides/plain.md" in ids
    assert "guides/own.md" not in ids
    repo.commit({"guides/.taxonomy.toml": ""})
    assert list_ids(take_snapshot(repo)) == []


def test_branch_without_commits_has_no_walkthroughs(tmp_path: Path) -> None:
    empty_snapshot = Snapshot(GitReader(create_empty_repository(tmp_path / "r").path), None)
    assert list_ids(empty_snapshot) == []
    with pytest.raises(WalkthroughNotFound) as error_info:
        read_walkthrough(empty_snapshot, "a.md")
    assert error_info.value.details["candidates"] == []


def test_unreadable_documents_are_left_out(repo: Repo) -> None:
    repo.commit(
        {
            "docyard.toml": "[limits]\ndocument_bytes = 1000\n",
            "large.md": format_walkthrough("A") + "x" * 2_000,
            "pointer.md": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n",
            "good.md": format_walkthrough("B"),
        }
    )
    snapshot = take_snapshot(repo)
    assert list_ids(snapshot) == ["good.md"]
    with pytest.raises(LimitExceeded):
        find_walkthrough(snapshot, "large.md")
    repo.commit({"docyard.toml": ""})
    assert list_ids(take_snapshot(repo)) == ["good.md", "large.md"]


def test_missing_object_is_left_out_until_it_is_restored(repo: Repo) -> None:
    repo.commit({"a.md": format_walkthrough("A"), "b.md": format_walkthrough("B")})
    blob = take_snapshot(repo).documents["a.md"]
    file = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    data = file.read_bytes()
    file.unlink()
    assert list_ids(take_snapshot(repo)) == ["b.md"]
    with pytest.raises(DamagedRepository):
        find_walkthrough(take_snapshot(repo), "a.md")
    file.write_bytes(data)
    assert list_ids(take_snapshot(repo)) == ["a.md", "b.md"]


def test_only_possible_walkthroughs_are_parsed(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(
        {
            **{
                f"plain/{number}.md": f"---\ntype: runbook\n---\n\n# {number} walkthrough\n"
                for number in range(50)
            },
            "a.md": format_walkthrough("A"),
        }
    )
    parsed_paths: list[str] = []
    read_blobs: list[str] = []
    parse, blob_within = Document.parse.__func__, GitReader.blob_within  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Document,
        "parse",
        classmethod(lambda cls, data, path="": parsed_paths.append(path) or parse(cls, data, path)),
    )
    monkeypatch.setattr(
        GitReader,
        "blob_within",
        lambda self, id, max_bytes: read_blobs.append(id) or blob_within(self, id, max_bytes),
    )
    assert list_ids(take_snapshot(repo)) == ["a.md"]
    assert set(parsed_paths) == {"a.md"}
    # At the next commit, only new blobs are read.
    repo.commit({"b.md": format_walkthrough("B")})
    read_blobs.clear()
    for _ in range(2):
        assert list_ids(take_snapshot(repo)) == ["a.md", "b.md"]
        assert read_blobs == [take_snapshot(repo).documents["b.md"]]


@loop_over("id", ["guides/first.md", "guides/first", " guides/first.md ", "First calls", " first  CALLS"])
def test_walkthrough_is_found_by_path_and_title(id: str, tmp_path: Path) -> None:
    repo = create_empty_repository(tmp_path / id.replace("/", "-"))
    repo.commit({"guides/first.md": format_walkthrough("First calls"), "x.md": format_walkthrough("Other")})
    assert read_walkthrough(take_snapshot(repo), id).id == "guides/first.md"


@pytest.mark.parametrize(
    ("id", "message", "candidates"),
    [
        ("guides/frist.md", "no walkthrough 'guides/frist.md'", ["guides/first.md"]),
        ("Deploi", "no walkthrough 'Deploi'", ["deploy.md"]),
        ("guides/setup.md", "'guides/setup.md' is not a walkthrough", None),
        ("Same", "2 walkthroughs have the title 'Same'", ["same-1.md", "same-2.md"]),
        ("", "no walkthrough ''", None),
        ("../deploy.md", "no walkthrough '../deploy.md'", ["deploy.md"]),
        ("/etc/passwd", "no walkthrough '/etc/passwd'", None),
        ("a\0b", "no walkthrough 'a\0b'", None),
        ("\ud800", "no walkthrough '\ud800'", None),
        ("guides", "'guides' is not a walkthrough", None),
        ("x" * 5_000, f"no walkthrough '{'x' * 200}…'", None),
    ],
)
def test_unknown_or_ambiguous_id_is_an_error_with_candidates_if_any(
    repo: Repo, id: str, message: str, candidates: list[str] | None
) -> None:
    repo.commit(
        {
            "guides/first.md": format_walkthrough("First calls"),
            "deploy.md": format_walkthrough("Deploy"),
            "same-1.md": format_walkthrough("Same"),
            "same-2.md": format_walkthrough("Same"),
        }
    )
    with pytest.raises(WalkthroughNotFound) as error_info:
        read_walkthrough(take_snapshot(repo), id)
    error = error_info.value
    assert error.code == "WALKTHROUGH_NOT_FOUND"
    assert error.message == message
    assert error.fix
    ids = {"guides/first.md", "deploy.md", "same-1.md", "same-2.md"}
    assert set(error.details["candidates"]) <= ids
    assert error.details["candidates"]
    if candidates is not None:
        assert error.details["candidates"][: len(candidates)] == candidates
