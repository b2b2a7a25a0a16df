"""Growth: the numbers of documents and tasks at the end of each period, against a count of each commit."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.repositories import Repo, create_repository
from tests.workspace.history.fast_import import FIRST_COMMIT_TIME_S, PlannedCommit, write_history
from workspace.git.reader import GitReader
from workspace.history.growth import DocumentCounts, Growth, GrowthCounter
from workspace.history.periods import PeriodUnit
from workspace.snapshot.snapshot import Snapshot

DAY_S = 86_400
FIRST_DAY = datetime.fromtimestamp(FIRST_COMMIT_TIME_S, UTC).date()
TASKS = b"# Tasks\n\n- [ ] One\n  - [x] Sub\n- [x] Two\n\n```\n- [ ] code\n```\n"


def count(path: Path, day: int, since: date | None = None, counter: GrowthCounter | None = None) -> Growth:
    """Return the growth of a repository as of some days after its first commit."""
    git = GitReader(path)
    snapshot = Snapshot(git, git.commit_at("refs/heads/main"))
    now = datetime.fromtimestamp(FIRST_COMMIT_TIME_S + day * DAY_S, UTC)
    return finish(counter or GrowthCounter(git), snapshot, since, now)


def finish(counter: GrowthCounter, snapshot: Snapshot, since: date | None, now: datetime) -> Growth:
    counting = counter.count(snapshot, since, now)
    while True:
        try:
            next(counting)
        except StopIteration as end:
            result: Growth = end.value
            return result


def write_days(path: Path, versions: dict[int, dict[str, bytes]]) -> Path:
    """Write a repository with a commit on each of some days after the first one."""
    commits = [
        PlannedCommit(files, (number - 1,) if number else (), clock_error_s=day * DAY_S - 3600 * number)
        for number, (day, files) in enumerate(versions.items())
    ]
    write_history(path, commits)
    return path


VERSIONS = {
    0: {"a.md": b"# A\n"},
    2: {"a.md": b"# A\n", "docs/b.md": TASKS, "code.py": b"- [ ] no\n"},
    3: {"docs/b.md": TASKS.replace(b"[ ] One", b"[x] One"), "docs/c.md": TASKS},
}


def test_days_have_the_counts_of_their_last_commits(tmp_path: Path) -> None:
    growth = count(write_days(tmp_path / "repo", VERSIONS), 4)
    assert growth.periods.unit is PeriodUnit.DAY
    assert growth.periods.starts == [FIRST_DAY + timedelta(day) for day in range(5)]
    assert growth.counts == [
        DocumentCounts(1),
        DocumentCounts(1),
        DocumentCounts(2, open_tasks=1, done_tasks=2),
        DocumentCounts(2, open_tasks=1, done_tasks=5),
        DocumentCounts(2, open_tasks=1, done_tasks=5),
    ]
    assert growth.is_complete


def test_long_history_is_counted_by_week(tmp_path: Path) -> None:
    growth = count(write_days(tmp_path / "repo", VERSIONS | {90: {"z.md": b""}}), 91)
    assert growth.periods.unit is PeriodUnit.WEEK
    assert growth.counts[0] == DocumentCounts(2, open_tasks=1, done_tasks=5)
    assert growth.counts[-1] == DocumentCounts(1)


def test_since_selects_the_last_periods(tmp_path: Path) -> None:
    growth = count(write_days(tmp_path / "repo", VERSIONS), 4, FIRST_DAY + timedelta(3))
    assert growth.counts == [DocumentCounts(2, 1, 5)] * 2


def test_since_before_the_first_commit_begins_with_the_first_commit(tmp_path: Path) -> None:
    growth = count(write_days(tmp_path / "repo", VERSIONS), 4, date(1970, 1, 1))
    assert growth.periods.starts[0] == FIRST_DAY


def test_only_changed_documents_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_days(
        tmp_path / "repo", {day: {"a.md": TASKS, "b/b.md": b"%d %b" % (day, TASKS)} for day in range(5)}
    )
    counter = GrowthCounter(GitReader(path))
    parsed: list[str] = []
    count_tasks = GrowthCounter._count_tasks

    def observe(self: GrowthCounter, blob: str, max_bytes: int) -> tuple[int, int] | None:
        parsed.append(blob)
        return count_tasks(self, blob, max_bytes)

    monkeypatch.setattr(GrowthCounter, "_count_tasks", observe)
    growth = count(path, 4, counter=counter)
    assert growth.counts == [DocumentCounts(2, 2, 4)] * 5
    assert len(parsed) == 6
    assert count(path, 4, counter=counter) == growth
    assert len(parsed) == 6


def test_known_counts_are_not_counted_again(tmp_path: Path) -> None:
    path = write_days(tmp_path / "repo", VERSIONS)
    growth = count(path, 4)
    counter = GrowthCounter(GitReader(path))
    counter.add_known_counts(growth.settings, {tree: DocumentCounts(7) for tree in growth.trees if tree})
    assert count(path, 4, counter=counter).counts == [DocumentCounts(7)] * 5
    counter.add_known_counts("other settings", {tree: DocumentCounts(8) for tree in growth.trees if tree})
    assert count(path, 4, counter=counter).counts == [DocumentCounts(7)] * 5


def test_settings_of_the_snapshot_select_the_documents_of_all_commits(tmp_path: Path) -> None:
    settings = {"docyard.toml": b'root = "docs"\nexclude = ["**/c.md"]\n'}
    path = write_days(tmp_path / "repo", VERSIONS | {4: VERSIONS[3] | settings})
    assert [counts.documents for counts in count(path, 4).counts] == [0, 0, 1, 1, 1]


def test_repository_without_commits_has_no_documents(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.git("init", "-q", "-b", "main")
    git = GitReader(tmp_path)
    growth = finish(GrowthCounter(git), Snapshot(git, None), None, datetime.now(UTC))
    assert growth.counts == [DocumentCounts()]


def test_wrong_clocks_do_not_hide_other_commits(tmp_path: Path) -> None:
    path = tmp_path / "repo"
    errors = (0, -FIRST_COMMIT_TIME_S, DAY_S - 7200, 9 * 365 * DAY_S)
    write_history(
        path,
        [
            PlannedCommit(
                {f"{name}.md": b"" for name in range(number + 1)},
                (number - 1,) if number else (),
                clock_error_s=error,
            )
            for number, error in enumerate(errors)
        ],
    )
    growth = count(path, 2)
    assert [counts.documents for counts in growth.counts] == [2, 3, 4]


def test_too_large_document_is_unreadable(tmp_path: Path) -> None:
    settings = b"[limits]\ndocument_bytes = 1000\n"
    path = write_days(tmp_path / "repo", {0: {"docyard.toml": settings, "a.md": TASKS + b"x" * 1000}})
    assert count(path, 0).counts == [DocumentCounts(1, unreadable_documents=1)]


def test_earlier_history_of_a_shallow_clone_is_unknown(tmp_path: Path) -> None:
    path = write_days(tmp_path / "repo", VERSIONS)
    clone = tmp_path / "clone"
    Repo(path).git("clone", "-q", "--bare", "--depth", "1", "--branch", "main", f"file://{path}", str(clone))
    growth = count(clone, 4)
    assert growth.periods.starts[0] == FIRST_DAY + timedelta(3)
    assert growth.counts == [DocumentCounts(2, 1, 5)] * 2
    assert not growth.is_complete
    assert count(clone, 4, FIRST_DAY).is_complete is False


def test_missing_text_is_counted_again_after_a_repair(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.md": TASKS.decode()})
    blob = repo.git("rev-parse", "HEAD:a.md").strip()
    file = repo.path / ".git/objects" / blob[:2] / blob[2:]
    data = file.read_bytes()
    file.unlink()
    git = GitReader(repo.path)
    counter, snapshot = GrowthCounter(git), Snapshot(git, repo.head())
    now = datetime.now(UTC)
    assert finish(counter, snapshot, None, now).counts[-1] == DocumentCounts(1, unreadable_documents=1)
    file.write_bytes(data)
    assert finish(counter, snapshot, None, now).counts[-1] == DocumentCounts(1, 1, 2)
