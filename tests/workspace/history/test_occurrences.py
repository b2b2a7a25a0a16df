"""The commits with a text: on all refs, in files and in messages, merges and discussions included."""

from __future__ import annotations

from pathlib import Path

from tests.repositories import create_repository
from workspace.git.reader import GitReader
from workspace.history.occurrences import find_occurrences

SECRET = "s3cr3t-ü"


def test_text_is_found_in_files_messages_branches_and_tags(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "specs")
    repo.commit({"a/b/leak.bin": b"\x00\xff" + SECRET.encode()})
    added = repo.head()
    repo.git("tag", "--annotate", "--message", "A tag", "v1")
    repo.git("checkout", "--quiet", "-b", "docyard/discussion")
    repo.commit({"event.json": f'{{"text": "{SECRET}"}}'}, message=f"Say {SECRET}")
    discussed = repo.head()
    repo.git("checkout", "--quiet", "main")
    repo.git("rm", "--quiet", "a/b/leak.bin")
    repo.git("commit", "--quiet", "--message", "Remove it")
    occurrences = find_occurrences(GitReader(repo.path), SECRET)
    assert sorted(occurrences.commits) == sorted(
        [(added, "a/b/leak.bin"), (discussed, ""), (discussed, "event.json")]
    )
    assert sorted(occurrences.refs) == [
        ("docyard/discussion", "a/b/leak.bin"),
        ("docyard/discussion", "event.json"),
        ("v1", "a/b/leak.bin"),
    ]
    assert occurrences.unreadable_count == 0
    assert find_occurrences(GitReader(repo.path), "nowhere") == ((), (), 0)


def test_repository_without_a_commit_contains_nothing(tmp_path: Path) -> None:
    from tests.repositories import create_empty_repository

    repo = create_empty_repository(tmp_path / "empty")
    assert find_occurrences(GitReader(repo.path), SECRET) == ((), (), 0)
