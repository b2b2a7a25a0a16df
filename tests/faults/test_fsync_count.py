"""The number of fsyncs of a batch does not grow with the repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.actions import FILES
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import ReportLine
from tests.repositories import Repo

SMALL_FILE_COUNT, LARGE_FILE_COUNT = 10, 2_000
_FILES_PER_FOLDER = 50


def make_repository(folder: Path, additional_count: int, *, bare: bool) -> Repo:
    """Make a repository with `additional_count` additional files, 50 in each folder."""
    additional_files = {
        f"part-{number // _FILES_PER_FOLDER}/page-{number}.md": f"# Page {number}\n"
        for number in range(additional_count)
    }
    source = repositories.create_repository(folder / "source", {**FILES, **additional_files})
    if not bare:
        return source
    source.git("clone", "-q", "--bare", ".", str(folder / "bare"))
    return Repo(folder / "bare")


@pytest.mark.parametrize("repository_kind", ["checked-out", "bare"])
def test_fsyncs_do_not_grow_with_the_repository(
    server: ForkServer, tmp_path: Path, report_line: ReportLine, repository_kind: str
) -> None:
    counts = {}
    for file_count in (SMALL_FILE_COUNT, LARGE_FILE_COUNT):
        repo = make_repository(
            tmp_path.resolve() / str(file_count), file_count, bare=repository_kind == "bare"
        )
        child_result = server.run("write", repo.path, durable=True, batch="one section")
        assert child_result.is_committed
        counts[file_count] = Counter(call.name for call in child_result.calls)
    small, large = (counts[file_count]["fsync"] for file_count in (SMALL_FILE_COUNT, LARGE_FILE_COUNT))
    report_line(
        f"fsyncs of a one-section batch, {repository_kind}: {small} with {SMALL_FILE_COUNT} files, "
        f"{large} with {LARGE_FILE_COUNT:,}"
    )
    assert small == large > 0
    child_result = server.run(
        "write",
        make_repository(tmp_path.resolve() / "off", SMALL_FILE_COUNT, bare=repository_kind == "bare").path,
        batch="one section",
    )
    assert [call for call in child_result.calls if call.name == "fsync"] == []
