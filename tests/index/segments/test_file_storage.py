"""The storage of an index in files, and in memory where no file can be written."""

from __future__ import annotations

from pathlib import Path

from index.documents import SectionRecord
from index.segments.file_storage import FileStorage
from index.storage.location import IndexLocation
from index.whoosh_engine.engine import WhooshEngine
from tests.index.documents import make_document
from tests.index.engines import Commit


def read_nothing(record: SectionRecord) -> bytes:
    return b""


def test_index_without_a_location_is_in_memory_until_it_is_closed() -> None:
    engine = WhooshEngine(FileStorage(IndexLocation(lambda: "index", lambda name: [])), read_nothing)
    engine.apply(None, "c1", [make_document("a.md", "retry")], ())
    first = engine.generation()
    engine.apply("c1", "c2", [make_document("b.md", "retry")], ())
    second = engine.generation()
    assert first is not None
    assert second is not None
    assert (first.origin, second.origin, second.number) == (None, None, first.number + 1)
    engine.rebuild(Commit("c3", {"c.md": make_document("c.md", "retry")}))
    state = engine.state()
    assert state is not None
    assert state.commit == "c3"
    engine.close()
    assert engine.state() is None


def test_current_generation_is_returned_itself(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    storage = FileStorage(IndexLocation(lambda: "index", lambda name: [tmp_path / name]), durable=False)
    assert storage.read(None) is None
    engine = WhooshEngine(storage, read_nothing)
    engine.apply(None, "c1", [make_document("a.md", "retry")], ())
    generation = engine.generation()
    assert storage.read(generation) is generation
    engine.apply("c1", "c2", [make_document("b.md", "retry")], ())
    later = storage.read(generation)
    assert later is not None
    assert generation is not None
    assert later.is_later_than(generation)
    assert later.segment_readers[0].segment is generation.segment_readers[0].segment
