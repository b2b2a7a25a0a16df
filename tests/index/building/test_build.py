"""The build of an index: one or several processes build the same index, and no child outlives its parent."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from index.building import build as building
from index.building.build import build_in_processes
from index.building.builder import BuiltSegments, SegmentBuilder, build_segments
from index.documents import IndexedDocument, UnreadableDocument
from index.segments.generation import SegmentReader
from index.segments.merge import merge_segments
from tests.index.document_sources import FailingSource, NumberedSource, ParentFailingSource, PrintingSource
from tests.index.documents import make_document, make_segment
from tests.index.segments.test_merge import are_equal
from tests.loops import loop_over

SOURCE = NumberedSource(300)
ROOT = Path(__file__).resolve().parents[3]


def is_complete(built_segments: BuiltSegments) -> bool:
    """Return True if the segments contain each document of the source once."""
    documents = list(SOURCE.read_documents(SOURCE.paths()))
    expected = make_segment(document for document in documents if isinstance(document, IndexedDocument))
    unreadable = {
        document.path: document.blob for document in documents if isinstance(document, UnreadableDocument)
    }
    return built_segments.unreadable == unreadable and are_equal(
        merge_segments([SegmentReader.of(segment) for segment in built_segments.segments]), expected
    )


def test_segments_stay_in_memory_without_a_folder() -> None:
    built_segments = build_in_processes(SOURCE, None)
    assert len(built_segments.segments) == 1
    assert built_segments.segments[0].stamp is None
    assert is_complete(built_segments)


def test_segment_is_written_when_postings_reach_the_limit(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    builder = SegmentBuilder(folder, max_postings=1)
    long_word = "word" * 300_000
    for number in range(3):
        builder.add(make_document(f"{number}.md", f"# Page {number}\n\nmany {long_word}\n"))
        assert len(list(folder.iterdir())) == number + 1
    segments = builder.finish()
    assert [segment.path(0) for segment in segments] == ["0.md", "1.md", "2.md"]


def test_no_documents_give_no_segment(tmp_path: Path) -> None:
    assert build_segments([], tmp_path) == BuiltSegments((), {})
    assert build_in_processes(NumberedSource(0), tmp_path, processes=2) == BuiltSegments((), {})


@loop_over("paths", ["ba", "aa"])
def test_unsorted_or_repeated_documents_are_refused(paths: Sequence[str]) -> None:
    with pytest.raises(ValueError, match="ascending order"):
        build_segments(make_document(path, "# A\n") for path in paths)


def test_garbage_collector_is_enabled_after_a_failure() -> None:
    def documents() -> Iterator[IndexedDocument]:
        assert not gc.isenabled()
        yield make_document("a.md", "# A\n")
        raise KeyError("lost")

    with pytest.raises(KeyError):
        build_segments(documents())
    assert gc.isenabled()


@pytest.mark.process
def test_two_processes_build_the_same_index_as_one(tmp_path: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    built_segments = build_in_processes(
        SOURCE, tmp_path, processes=2, progress=lambda *report: reports.append(report)
    )
    assert is_complete(built_segments)
    assert {f"MAIN_{segment.id}.flat" for segment in built_segments.segments} == {
        file.name for file in tmp_path.iterdir()
    }
    assert all(segment.is_untouched() and segment.checksum for segment in built_segments.segments)
    assert [finished for finished, _, _ in reports] == sorted(finished for finished, _, _ in reports)
    assert reports[-1] == (300, 300, "Indexing documents")


@pytest.mark.process
@pytest.mark.parametrize("signal_number", [0, signal.SIGKILL, signal.SIGSTOP])
def test_parent_finishes_the_work_of_a_failed_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal_number: int
) -> None:
    if signal_number == signal.SIGSTOP:
        monkeypatch.setattr("index.building.worker._RESULT_TIMEOUT_S", 3.0)
    assert is_complete(build_in_processes(FailingSource(300, signal=signal_number), tmp_path, processes=2))


def test_parent_builds_index_if_no_process_can_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_start(process: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refuse_start)
    assert is_complete(build_in_processes(SOURCE, tmp_path, processes=3))


@pytest.mark.process
def test_failure_in_parent_ends_child_processes(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        build_in_processes(ParentFailingSource(300), tmp_path, processes=2)
    assert multiprocessing.active_children() == []


def test_child_process_builds_without_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", multiprocessing.current_process)
    monkeypatch.setattr(building, "MIN_DOCUMENTS_FOR_CHILDREN", 1)
    assert len(build_in_processes(SOURCE, tmp_path).segments) == 1


@pytest.mark.process
def test_child_processes_write_nothing_to_standard_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert is_complete(build_in_processes(PrintingSource(300), tmp_path, processes=2))
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def endless_build(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that builds endlessly; its child has also started to build."""
    (tmp_path / "index").mkdir()
    code = (
        # Without this line, the process could ignore Ctrl-C, like a background job of a shell.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from pathlib import Path\n"
        "from tests.index.document_sources import EndlessSource\n"
        "from index.building.build import build_in_processes\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "build_in_processes(EndlessSource(300, folder=folder), folder / 'index', processes=2)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 60
        while not all((tmp_path / name).exists() for name in ("parent", "child")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process
        process.kill()


@pytest.mark.process
def test_child_processes_end_when_parent_is_killed(endless_build: subprocess.Popen[bytes]) -> None:
    endless_build.kill()
    # If the child still ran, its end of the pipe would be open.
    endless_build.communicate(timeout=60)


@pytest.mark.process
def test_only_the_parent_reports_ctrl_c(endless_build: subprocess.Popen[bytes]) -> None:
    """Send Ctrl-C to all processes, as a terminal does; the child must print nothing."""
    os.killpg(endless_build.pid, signal.SIGINT)
    _, errors = endless_build.communicate(timeout=60)
    assert errors.count(b"Traceback") == 1
