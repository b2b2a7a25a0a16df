"""metadata.json: what is written follows the commit, and what is read must keep the contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from index.metadata import InvalidMetadata, facet, parse_metadata, read_metadata
from index.service import SearchIndex
from tests.repositories import Repo

VALID: dict[str, Any] = {
    "metadata_version": "1.1.0",
    "corpus_description": "Speakeasy SDK documentation",
    "taxonomy": {
        "language": {"description": "Filter results by programming language.", "values": ["go", "java"]},
        "scope": {"values": [" global-guide ", "sdk-specific", "global-guide"]},
    },
    "stats": {
        "total_chunks": 2847,
        "total_files": 312,
        "indexed_at": "2026-02-21T14:32:00Z",
        "source_commit": "4d2f9b4d6a42c377815f9f6c7db25a54d2aa9cf9",
    },
    "embedding": None,
}


def test_it_is_written_beside_the_index(index: SearchIndex, repo: Repo) -> None:
    assert index.metadata() is None
    index.follow()
    folder = index.status().folder
    assert folder is not None
    data = json.loads((folder / "metadata.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", data["stats"].pop("indexed_at"))
    assert data == {
        "metadata_version": "1.1.0",
        "corpus_description": "docs",
        "taxonomy": {
            "type": {"description": None, "values": ["api_spec", "runbook"]},
            "tags": {"description": None, "values": ["network", "sdk"]},
        },
        "stats": {"total_chunks": 8, "total_files": 4, "source_commit": repo.head()},
        "embedding": None,
    }


def test_it_follows_the_commit(open_index: Callable[[], SearchIndex], repo: Repo) -> None:
    index = open_index()
    index.follow()
    repo.commit(
        {
            "docyard.toml": '[corpus]\ndescription = "Handbook"\n',
            "guides/retries.md": "---\ntags: [Zoo, ' ', '" + "x" * 129 + '\', "a\\u202Eb"]\n---\n# R\n',
        }
    )
    index.follow()
    metadata = index.metadata()
    assert metadata is not None
    assert metadata == open_index().metadata()
    assert metadata.corpus_description == "Handbook"
    assert metadata.taxonomy["tags"].values == ("Zoo", "network")
    assert metadata.taxonomy["type"].values == ("api_spec",)
    assert metadata.stats.source_commit == repo.head()


def test_what_searches_filter_by_is_written_at_once(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    repo.commit({"new.md": "---\ntags: [fresh]\n---\n# New\n"})
    index.follow()
    told = read_metadata(index.status().folder / "metadata.json")  # type: ignore[operator]
    assert told == index.metadata()
    assert told is not None
    assert told.taxonomy["tags"].values == ("fresh", "network", "sdk")


def test_figures_are_told_at_once_and_written_by_the_end(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    file = index.status().folder / "metadata.json"  # type: ignore[operator]
    repo.commit({"new.md": "# New\n"})
    index.follow()
    told = index.metadata()
    assert told is not None
    assert (told.stats.source_commit, told.stats.total_files) == (repo.head(), 5)
    index.close()
    assert read_metadata(file) == told


def test_late_figures_do_not_take_back_what_another_process_told(
    open_index: Callable[[], SearchIndex], repo: Repo
) -> None:
    one, other = open_index(), open_index()
    one.follow()
    repo.commit({"new.md": "# New\n"})
    one.follow()
    repo.commit({"newer.md": "# Newer\n"})
    other.follow()
    other.close()
    one.close()
    told = open_index().metadata()
    assert told is not None
    assert (told.stats.source_commit, told.stats.total_files) == (repo.head(), 6)


@pytest.mark.parametrize("torn", [0, 10, 200])
def test_a_torn_file_is_ignored_and_written_anew(
    open_index: Callable[[], SearchIndex], repo: Repo, torn: int
) -> None:
    index = open_index()
    index.follow()
    file = index.status().folder / "metadata.json"  # type: ignore[operator]
    whole = file.read_bytes()
    file.write_bytes(whole[:torn])
    other = open_index()
    assert other.metadata() is None
    other.follow()
    assert file.read_bytes() == whole


def test_the_example_of_the_contract_is_read_and_normalised() -> None:
    metadata = parse_metadata(json.dumps(VALID).encode())
    assert metadata.taxonomy["scope"].values == ("global-guide", "sdk-specific")
    embedding = {"provider": "openai", "model": "text-embedding-3-large", "dimensions": 3072}
    assert parse_metadata(json.dumps({**VALID, "embedding": embedding}).encode()).embedding is not None
    without = {key: value for key, value in VALID["stats"].items() if key != "source_commit"}
    assert parse_metadata(json.dumps({**VALID, "stats": without}).encode()).stats.source_commit is None


def _with(field: str, value: object) -> dict[str, Any]:
    changed = json.loads(json.dumps(VALID))
    target = changed
    *parents, last = field.split(".")
    for parent in parents:
        target = target[parent]
    target[last] = value
    return dict(changed)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata_version", "1.1"),
        ("metadata_version", "2.0.0"),
        ("metadata_version", "01.1.0"),
        ("metadata_version", "1.1.0\n"),
        ("corpus_description", None),
        ("taxonomy.language.values", ["go", "  "]),
        ("taxonomy.language.values", [str(i) for i in range(513)]),
        ("taxonomy.language.values", ["x" * 129]),
        ("taxonomy", {"k" * 65: {"values": ["a"]}}),
        ("taxonomy", {" ": {"values": ["a"]}}),
        ("taxonomy", {f"k{i}": {"values": ["a"]} for i in range(65)}),
        ("stats.total_chunks", -1),
        ("stats.total_chunks", "7"),
        ("stats.source_commit", "4D2F9B4D6A42C377815F9F6C7DB25A54D2AA9CF9"),
        ("stats.source_commit", "4d2f9b4d6a42c377815f9f6c7db25a54d2aa9cf9\n"),
        ("stats.source_commit", "4d2f9b4"),
        ("embedding", {"provider": "p", "model": "m", "dimensions": 0}),
    ],
)
def test_a_breach_is_named_by_its_field(field: str, value: object) -> None:
    with pytest.raises(InvalidMetadata) as error:
        parse_metadata(json.dumps(_with(field, value)).encode())
    assert str(error.value.details["field"]).startswith(field)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"null", b'{"a": NaN}'])
def test_what_is_no_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidMetadata):
        parse_metadata(data)


def test_a_facet_lists_what_a_schema_may_hold() -> None:
    found = facet([" b ", "a", "B", "a", "", "x" * 129, "c\x00", "\u200b", "e\u202ef", "\U000e0041"])
    assert found is not None
    assert found.values == ("B", "a", "b")
    assert facet([]) is None
    assert facet(str(i) for i in range(513)) is None
