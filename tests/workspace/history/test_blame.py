"""Blame names the same commit for each line as `git blame`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.workspace.history.fast_import import PlannedCommit, build_linear_commits, write_history
from workspace.document.addresses import SectionNotFound
from workspace.history.blame import BlamedLine
from workspace.workspace import Workspace


def read_blame(path: Path, file: str, slug: str | None = None) -> tuple[BlamedLine, ...]:
    workspace = Workspace.open(path, durable=False)
    return workspace.history().blame(workspace.snapshot(), file, slug)


def run_git_blame(repo: Repo, file: str) -> list[tuple[str, int]]:
    """Return the commit of each line, and the number of the line in that commit."""
    output = repo.git("blame", "--line-porcelain", "main", "--", file).split("\n")
    headers = [line.split(" ") for line in output if line[:40].isalnum() and len(line.split(" ")[0]) == 40]
    return [(header[0], int(header[1])) for header in headers]


@loop_over("seed", range(8))
def test_blame_equals_git_blame(tmp_path: Path, seed: int) -> None:
    """All lines are distinct, because the blame of equal lines is ambiguous."""
    rng = Random(seed)
    lines = [f"Line {number} as it was." for number in range(30)]
    versions: list[Mapping[str, bytes]] = []
    for version in range(30):
        for _ in range(rng.randrange(1, 4)):
            position = rng.randrange(len(lines))
            match rng.randrange(3):
                case 0:
                    lines[position] = f"Changed in {version} at {position}."
                case 1:
                    lines.insert(position, f"Added in {version} at {position}.")
                case _:
                    del lines[position]
        versions.append({"a.md": ("\n".join(lines) + ("\n" if version % 3 else "")).encode()})
    repo, _ = write_history(tmp_path / "repo", build_linear_commits(versions))
    blamed_lines = [(line.commit, line.original_line) for line in read_blame(repo.path, "a.md")]
    assert blamed_lines == run_git_blame(repo, "a.md")


@loop_over("seed", range(8))
def test_blame_across_merges_equals_git_blame(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    base = [f"Line {number} as it was." for number in range(20)]
    sides = [list(base), list(base)]
    commits = [PlannedCommit({"a.md": "\n".join(base).encode() + b"\n"})]
    tips = [0, 0]
    for number in range(1, 9):
        side = rng.randrange(2)
        # Each side edits its own half, so that the merge contains both halves.
        position = rng.randrange(10) + 10 * side
        sides[side][position] = f"Changed in {number} at {position}."
        commits.append(PlannedCommit({"a.md": "\n".join(sides[side]).encode() + b"\n"}, [tips[side]]))
        tips[side] = number
    merged_lines = sides[0][:10] + sides[1][10:]
    merged_lines[5] = "Written by the merge."
    commits.append(PlannedCommit({"a.md": "\n".join(merged_lines).encode() + b"\n"}, tips))
    repo, _ = write_history(tmp_path / "repo", commits)
    assert [(line.commit, line.original_line) for line in read_blame(repo.path, "a.md")] == run_git_blame(
        repo, "a.md"
    )


def test_lines_are_tracked_across_renames_and_moves(tmp_path: Path) -> None:
    text = "".join(f"Line {number}.\n" for number in range(6))
    repo = create_repository(tmp_path, {"a.md": f"# A\n\n## Notes\n\n{text}", "z.md": "# Z\n"})
    first_commit = repo.head()
    repo.git("mv", "a.md", "b.md")
    second_commit = repo.commit({"b.md": f"# A\n\n## Notes\n\n{text}Six.\n"})
    third_commit = repo.commit({"b.md": "# A\n", "z.md": f"# Z\n\n## Notes\n\n{text}Six.\n"})
    fourth_commit = repo.commit({"z.md": f"# Z\n\n## Notes\n\n{text}Six.\nSeven.\n"})
    lines = read_blame(tmp_path, "z.md", "notes")
    assert [line.commit for line in lines] == [first_commit] * 8 + [second_commit, fourth_commit]
    assert third_commit not in {line.commit for line in lines}
    assert [(line.path, line.original_line) for line in lines[2:4]] == [("a.md", 5), ("a.md", 6)]
    assert [line.line for line in lines] == list(range(3, 13))
    assert b"".join(line.text for line in lines) == f"## Notes\n\n{text}Six.\nSeven.\n".encode()


def test_line_endings_are_preserved(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": "# A\r\n\r\nOne.\r\nTwo."})
    first_commit = repo.head()
    second_commit = repo.commit({"a.md": "# A\r\n\r\nOne.\r\nTwo.\r\nThree."})
    lines = read_blame(tmp_path, "a.md")
    assert [line.text for line in lines] == [b"# A\r\n", b"\r\n", b"One.\r\n", b"Two.\r\n", b"Three."]
    assert [line.commit for line in lines] == [first_commit] * 3 + [second_commit] * 2


def test_shallow_clone_marks_its_oldest_commit_as_boundary(tmp_path: Path) -> None:
    source = create_repository(tmp_path / "source", {"a.md": "# A\n\nOne.\n"})
    oldest_commit = source.commit({"a.md": "# A\n\nOne.\n\nTwo.\n"})
    newest_commit = source.commit({"a.md": "# A\n\nOne.\n\nTwo.\n\nThree.\n"})
    source.git("clone", "-q", "--bare", "--depth", "2", f"file://{source.path}", str(tmp_path / "clone"))
    lines = read_blame(tmp_path / "clone", "a.md")
    assert [line.commit for line in lines] == [oldest_commit] * 5 + [newest_commit] * 2
    assert [line.is_boundary for line in lines] == [True] * 5 + [False] * 2


def test_empty_document_has_no_lines(tmp_path: Path) -> None:
    create_repository(tmp_path, {"a.md": ""})
    assert read_blame(tmp_path, "a.md") == ()


def test_blame_of_removed_section_raises_error(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": "# A\n\n## Gone\n\nText.\n"})
    repo.commit({"a.md": "# A\n"})
    with pytest.raises(SectionNotFound):
        read_blame(tmp_path, "a.md", "gone")


def test_blame_is_cached(tmp_path: Path) -> None:
    create_repository(tmp_path, {"a.md": "# A\n"})
    workspace = Workspace.open(tmp_path, durable=False)
    history, snapshot = workspace.history(), workspace.snapshot()
    assert history.blame(snapshot, "a.md") is history.blame(snapshot, "a.md")
