"""Old addresses: history locates moved documents and sections; ambiguous matches are ignored."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.repositories import Repo, create_empty_repository, create_repository
from workspace.document.addresses import find_sections_by_name
from workspace.document.document import Document
from workspace.document.sections import Section
from workspace.history.moved_addresses import Move, Moves, map_renamed_documents
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

GUIDE = """# Retries

How to configure retries.

## Backoff Strategy

The SDK uses an exponential backoff.

### Jitter

To prevent thundering herds, jitter is applied.

## Errors

A RateLimitError says when to retry.
"""
OTHER_TEXT = "# Limits\n\n## Rate Limit\n\nTen requests a second.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {"retries.md": GUIDE, "limits.md": OTHER_TEXT})


def find_move(repo: Repo, path: str, fragment: str | None = None) -> Move | None:
    workspace = Workspace.open(repo.path)
    return Moves(workspace.git).find(workspace.snapshot(), path, fragment)


def rename_file(repo: Repo, old: str, new: str) -> str:
    """Move a file in a commit of its own."""
    (repo.path / new).parent.mkdir(parents=True, exist_ok=True)
    repo.git("mv", old, new)
    return repo.commit({})


def remove_file(repo: Repo, path: str) -> str:
    repo.git("rm", "-q", path)
    return repo.commit({})


def test_renamed_document_is_found_with_its_sections(repo: Repo) -> None:
    move_commit = rename_file(repo, "retries.md", "guides/retrying.md")
    repo.commit({"limits.md": OTHER_TEXT + "\nMore.\n"})
    assert find_move(repo, "retries.md") == Move("guides/retrying.md", None, move_commit)
    assert find_move(repo, "retries.md", "errors") == Move("guides/retrying.md", "errors", move_commit)
    assert find_move(repo, "retries.md", "jitter") == Move(
        "guides/retrying.md", "backoff-strategy/jitter", move_commit
    )
    assert find_move(repo, "retries.md", "_preamble") == Move("guides/retrying.md", "_preamble", move_commit)


def test_renamed_document_is_found_by_half_of_its_lines(repo: Repo) -> None:
    (repo.path / "retries.md").unlink()
    move_commit = repo.commit(
        {"again.md": GUIDE.replace("A RateLimitError", "An HTTP 429"), "new.md": "# New\n"}
    )
    assert find_move(repo, "retries.md", "errors") == Move("again.md", "errors", move_commit)
    (repo.path / "again.md").unlink()
    repo.commit({"other.md": "# Retries\n\nAll that is said of them is new, and long enough.\n"})
    assert find_move(repo, "retries.md") is None
    assert find_move(repo, "again.md") is None


def test_chain_of_renames_is_resolved_to_last_path(repo: Repo) -> None:
    rename_file(repo, "retries.md", "a.md")
    repo.commit({"a.md": GUIDE + "\nOne more line.\n"})
    rename_file(repo, "a.md", "b.md")
    last_commit = rename_file(repo, "b.md", "c/d.md")
    for old_path in ("retries.md", "a.md", "b.md"):
        assert find_move(repo, old_path, "errors") == Move("c/d.md", "errors", last_commit)


def test_document_that_was_renamed_back_was_not_moved(repo: Repo) -> None:
    rename_file(repo, "retries.md", "a.md")
    second_commit = rename_file(repo, "a.md", "retries.md")
    assert find_move(repo, "a.md") == Move("retries.md", None, second_commit)
    assert find_move(repo, "retries.md") is None


def test_removed_document_was_not_moved(repo: Repo) -> None:
    remove_file(repo, "retries.md")
    assert find_move(repo, "retries.md") is None
    assert find_move(repo, "retries.md", "errors") is None
    repo.commit({"retries.md": "# Retries\n\n## Other\n\nThis is another document.\n"})
    assert find_move(repo, "retries.md", "errors") is None
    move_commit = rename_file(repo, "retries.md", "other.md")
    assert find_move(repo, "retries.md") == Move("other.md", None, move_commit)
    assert find_move(repo, "retries.md", "errors") is None


def test_reused_address_resolves_to_the_newest_document_that_had_it(repo: Repo) -> None:
    rename_file(repo, "retries.md", "a.md")
    second_files = {"retries.md": "# Second\n\n## Errors\n\nThe errors of the second.\n"}
    repo.commit(second_files)
    move_commit = rename_file(repo, "retries.md", "b.md")
    assert find_move(repo, "retries.md", "errors") == Move("b.md", "errors", move_commit)
    assert find_move(repo, "retries.md", "backoff-strategy") == Move(
        "a.md", "backoff-strategy", repo.git("rev-parse", "HEAD~2").strip()
    )


def test_equally_similar_documents_are_ambiguous(repo: Repo) -> None:
    (repo.path / "retries.md").unlink()
    repo.commit({"a.md": GUIDE, "b.md": GUIDE})
    assert find_move(repo, "retries.md") is None


def test_moved_folder_distinguishes_equal_documents_by_name(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path / "docs", {f"{name}/index.md": "# Index\n\nA stub.\n" for name in "abc"}
    )
    (repo.path / "new").mkdir()
    for name in "abc":
        repo.git("mv", name, f"new/{name}")
    move_commit = repo.commit({})
    assert find_move(repo, "b/index.md") == Move("new/b/index.md", None, move_commit)


def test_rename_target_of_another_document_is_not_used(repo: Repo) -> None:
    for name in ("retries.md", "limits.md"):
        (repo.path / name).unlink()
    move_commit = repo.commit({"one.md": GUIDE + OTHER_TEXT})
    assert find_move(repo, "retries.md") == Move("one.md", None, move_commit)
    assert find_move(repo, "limits.md") is None
    assert find_move(repo, "limits.md", "rate-limit") == Move("one.md", "limits/rate-limit", move_commit)


def test_renamed_section_is_matched_by_its_text(repo: Repo) -> None:
    first_commit = repo.commit({"retries.md": GUIDE.replace("## Backoff Strategy", "## Waiting")})
    assert find_move(repo, "retries.md", "backoff-strategy") == Move("retries.md", "waiting", first_commit)
    assert find_move(repo, "retries.md", "backoff-strategy/jitter") == Move(
        "retries.md", "waiting/jitter", first_commit
    )
    second_commit = rename_file(repo, "retries.md", "a.md")
    third_commit = repo.commit({"a.md": GUIDE.replace("## Backoff Strategy", "## Patience")})
    assert find_move(repo, "retries.md", "backoff-strategy") == Move("a.md", "patience", third_commit)
    assert find_move(repo, "retries.md", "waiting") == Move("a.md", "patience", third_commit)
    assert find_move(repo, "retries.md", "errors") == Move("a.md", "errors", second_commit)


def test_subsection_of_a_renamed_section_is_matched_by_its_heading(repo: Repo) -> None:
    new_text = GUIDE.replace("## Backoff Strategy", "## Waiting").replace("herds", "cattle")
    move_commit = repo.commit({"retries.md": new_text})
    assert find_move(repo, "retries.md", "backoff-strategy/jitter") == Move(
        "retries.md", "waiting/jitter", move_commit
    )


def test_sections_of_equal_text_are_ambiguous(repo: Repo) -> None:
    repo.commit({"todo.md": "# Todo\n\n## One\n\nTBD\n\n## Two\n\nTBD\n"})
    repo.commit({"todo.md": "# Todo\n\n## Three\n\nTBD\n\n## Two\n\nTBD\n"})
    assert find_move(repo, "todo.md", "one") is None
    repo.commit({"todo.md": "# Todo\n\n## Three\n\nTBD\n\n## Two\n\nTBD\n\n## \n\n## *\n"})
    assert find_move(repo, "todo.md", "one") is None


def test_reordered_section_is_found(repo: Repo) -> None:
    jitter = "### Jitter\n\nTo prevent thundering herds, jitter is applied.\n\n"
    move_commit = repo.commit({"retries.md": GUIDE.replace(jitter, "") + "\n" + jitter})
    assert find_move(repo, "retries.md", "backoff-strategy/jitter") == Move(
        "retries.md", "errors/jitter", move_commit
    )


def test_section_with_a_removed_number_is_matched_by_its_text(repo: Repo) -> None:
    first_section, second_section = "## Errors\n\nOf one.\n\n", "## Errors\n\nOf two.\n"
    repo.commit({"errors.md": f"# All\n\n{first_section}{second_section}"})
    move_commit = repo.commit({"errors.md": f"# All\n\n{second_section}"})
    assert find_move(repo, "errors.md", "errors-1") == Move("errors.md", "errors", move_commit)


def test_section_moved_to_another_document_is_found(repo: Repo) -> None:
    remaining_text, heading, errors = GUIDE.partition("## Errors\n")
    move_commit = repo.commit(
        {"retries.md": remaining_text, "limits.md": f"{OTHER_TEXT}\n#{heading}{errors}"}
    )
    assert find_move(repo, "retries.md", "errors") == Move("limits.md", "rate-limit/errors", move_commit)
    last_commit = rename_file(repo, "limits.md", "bounds.md")
    assert find_move(repo, "retries.md", "errors") == Move("bounds.md", "rate-limit/errors", last_commit)


def test_text_that_existed_before_is_not_a_move(repo: Repo) -> None:
    remaining_text, heading, errors = GUIDE.partition("## Errors\n")
    repo.commit({"copy.md": f"# Copy\n\n{heading}{errors}"})
    repo.commit({"retries.md": remaining_text, "copy.md": f"# Copy of it\n\n{heading}{errors}"})
    assert find_move(repo, "retries.md", "errors") is None


def test_address_that_never_existed_is_not_found(repo: Repo) -> None:
    rename_file(repo, "retries.md", "a.md")
    for path, fragment in [
        ("retrys.md", None),
        ("a.md", "erors"),
        ("retries.md", "nothing"),
        ("", None),
        ("/", None),
        ("a.md/b.md", None),
        ("x/" * 1_500 + "y.md", None),
        ("\ud800.md", "errors"),
    ]:
        assert find_move(repo, path, fragment) is None


def test_moves_follow_first_parents_of_merges(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    rename_file(repo, "retries.md", "side.md")
    repo.commit({"side.md": GUIDE.replace("## Errors", "## Failures")})
    repo.git("checkout", "-q", "main")
    repo.commit({"limits.md": OTHER_TEXT + "\nMore.\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    assert find_move(repo, "retries.md", "errors") == Move("side.md", "failures", repo.head())
    assert find_move(repo, "side.md", "errors") is None


def test_moves_before_a_shallow_boundary_are_unknown(repo: Repo, tmp_path: Path) -> None:
    rename_file(repo, "retries.md", "a.md")
    move_commit = rename_file(repo, "a.md", "b.md")
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", str(clone.path))
    assert find_move(clone, "a.md") == Move("b.md", None, move_commit)
    assert find_move(clone, "retries.md") is None


@pytest.mark.parametrize("kind", ["commit", "tree", "blob"])
def test_moves_before_damaged_history_are_unknown(repo: Repo, kind: str) -> None:
    rename_file(repo, "retries.md", "a.md")
    rename_file(repo, "a.md", "b.md")
    lost_object = repo.git(
        "rev-parse", {"commit": "HEAD~2", "tree": "HEAD~2^{tree}", "blob": "HEAD~2:limits.md"}[kind]
    )
    object_file = repo.path / ".git" / "objects" / lost_object[:2] / lost_object.strip()[2:]
    object_file.chmod(0o600)
    object_file.write_bytes(object_file.read_bytes()[:5])
    assert find_move(repo, "a.md") == Move("b.md", None, repo.head())
    assert find_move(repo, "retries.md") == (Move("b.md", None, repo.head()) if kind == "blob" else None)
    assert find_move(repo, "limits.md", "nothing") is None


def test_given_moves_are_resolved(repo: Repo) -> None:
    snapshot = Workspace.open(repo.path).snapshot()
    moves = Moves.of({"old.md": "retries.md", "lost.md": "gone.md", "limits.md": "retries.md"})
    assert moves.find(snapshot, "old.md") == Move("retries.md", None, None)
    assert moves.find(snapshot, "old.md", "jitter") == Move("retries.md", "backoff-strategy/jitter", None)
    assert moves.find(snapshot, "old.md", "nothing") is None
    for path in ("lost.md", "limits.md", "never.md"):
        assert moves.find(snapshot, path) is None


def test_renamed_documents_are_listed_within_limit(repo: Repo) -> None:
    rename_file(repo, "retries.md", "a.md")
    rename_file(repo, "a.md", "b.md")
    repo.commit({"a.md": "# Another\n\nOf the same name.\n"})
    rename_file(repo, "b.md", "c.md")
    remove_file(repo, "limits.md")
    repo.commit({"b.md": "# A third\n\nIt is quite another one.\n"})
    git = Workspace.open(repo.path).git
    assert map_renamed_documents(Snapshot(git, repo.head())) == {"retries.md": "c.md"}
    assert map_renamed_documents(Snapshot(git, repo.head()), 2) == {}


LINES = [f"Line {number} of many, with words of its own.\n" for number in range(400)]


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_moves_equal_renames_of_git(tmp_path: Path, seed: int) -> None:
    """Random histories of documents that share no line, renamed, edited and removed one by one."""
    rng = random.Random(seed)
    folder = tmp_path / "random"
    shutil.rmtree(folder, ignore_errors=True)
    repo = create_empty_repository(folder)
    texts = {
        f"{name}.md": "".join(LINES[20 * position : 20 * position + 20])
        for position, name in enumerate("abcdef")
    }
    repo.commit(texts)
    all_paths = {*texts}
    for step in range(8):
        new_texts = dict(texts)
        for path in rng.sample(sorted(texts), k=min(2, len(texts))):
            lines = new_texts.pop(path).splitlines(keepends=True)
            match rng.randrange(4):
                case 0:
                    continue
                case 1:
                    new_texts[path] = "".join(lines[1:]) + f"Edited {step} in {path}.\n"
                    continue
                case 2:
                    lines[rng.randrange(len(lines))] = f"Changed {step} in {path}.\n"
                case _:
                    pass
            new_texts[rng.choice([f"{step}{path[-4:]}", f"deep/{step}/{path[-4:]}"])] = "".join(lines)
        for removed_path in texts.keys() - new_texts.keys():
            (folder / removed_path).unlink()
        repo.commit(new_texts)
        texts = new_texts
        all_paths |= {*new_texts}
    expected = _find_renames_with_git(repo, all_paths)
    for path in sorted(all_paths - texts.keys()):
        move = find_move(repo, path)
        assert (move.path if move else None) == expected.get(path), path
    assert map_renamed_documents(Workspace.open(folder).snapshot()) == expected


def _find_renames_with_git(repo: Repo, all_paths: set[str]) -> Mapping[str, str]:
    """Return the new path of each removed path, by the renames that `git diff-tree -M` reports."""
    commits = repo.git("rev-list", "--first-parent", "HEAD").split()
    commit_changes = []
    for commit in commits[:-1]:
        lines = repo.git("diff-tree", "-r", "-M50%", "--name-status", f"{commit}^", commit).splitlines()
        fields = [row.split("\t") for row in lines]
        commit_changes.append(
            {row[1]: row[2] if row[0][0] == "R" else None for row in fields if row[0][0] in "RD"}
        )
    new_paths: dict[str, str] = {}
    for path in all_paths:
        newest_age = next(
            (age for age, changed_paths in enumerate(commit_changes) if path in changed_paths), None
        )
        if newest_age is None:
            continue
        current_path: str | None = path
        for age in range(newest_age, -1, -1):
            current_path = commit_changes[age].get(current_path, current_path) if current_path else None
        if current_path:
            new_paths[path] = current_path
    return {path: new_path for path, new_path in new_paths.items() if not (repo.path / path).exists()}


SectionSpec = tuple[int, str, str]
"""A section: level, title and unique text."""


def format_document(title: str, parts: list[SectionSpec]) -> str:
    return f"# {title}\n\n" + "".join(f"{'#' * level} {name}\n\n{text}\n\n" for level, name, text in parts)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_sections_are_tracked_by_their_texts(tmp_path: Path, seed: int) -> None:
    """Random histories of sections with unique texts; one of them changes in each commit."""
    rng = random.Random(seed)
    folder = tmp_path / "random"
    shutil.rmtree(folder, ignore_errors=True)
    repo = create_empty_repository(folder)
    texts: dict[str, list[SectionSpec]] = {
        f"{name}.md": [
            (2 + position % 2, f"Part {name}{position}", f"Says {name}{position}.") for position in range(5)
        ]
        for name in "ab"
    }
    history: list[dict[str, Document]] = []
    for step in range(10):
        _change_one_section(texts, rng, step)
        files = {path: format_document("Title", parts) for path, parts in texts.items()}
        for path in folder.glob("*.md"):
            path.unlink()
        repo.commit(files)
        history.insert(0, {path: Document.parse(text.encode(), path) for path, text in files.items()})
    workspace = Workspace.open(folder)
    tip, moves = workspace.snapshot(), Moves(workspace.git)
    addresses = {
        (file, section.key)
        for documents in history
        for file, document in documents.items()
        for section in document.sections[1:]
    }
    for file, key in sorted(addresses):
        if file in history[0] and find_sections_by_name(history[0][file], key):
            continue
        move = moves.find(tip, file, key)
        assert (move[:2] if move else None) == _find_current_location(history, file, key), (file, key)


def _change_one_section(texts: dict[str, list[SectionSpec]], rng: random.Random, step: int) -> None:
    path = rng.choice(sorted(texts))
    parts = texts[path]
    position = rng.randrange(len(parts)) if parts else 0
    match rng.randrange(7) if parts else 6:
        case 0:
            parts[position] = (parts[position][0], f"Renamed {step}", parts[position][2])
        case 1:
            parts[position] = (5 - parts[position][0], *parts[position][1:])
        case 2:
            parts.insert(rng.randrange(len(parts)), parts.pop(position))
        case 3:
            texts[rng.choice(sorted(texts))].append(parts.pop(position))
        case 4:
            del parts[position]
        case 5:
            parts[position] = (*parts[position][:2], f"{parts[position][2]} And more at {step}.")
        case _:
            texts[f"{step}.md"] = texts.pop(path)


def _find_current_location(history: list[dict[str, Document]], path: str, key: str) -> tuple[str, str] | None:
    """Return the current location of the text that was last at an address."""
    for documents in history:
        sections = find_sections_by_name(documents[path], key) if path in documents else ()
        if len(sections) == 1:
            text = _read_unique_text(documents[path], sections[0])
            locations = [
                (other_path, section.key)
                for other_path, document in history[0].items()
                for section in document.sections
                if _read_unique_text(document, section) == text
            ]
            return locations[0] if locations else None
    raise AssertionError(key)


def _read_unique_text(document: Document, section: Section) -> str:
    """Return the unique text of a section, which never changes."""
    return document.text(section.body_start, section.end).partition(".")[0]
