"""`metadata.json`: it is written for each commit, and validated when it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.port import State
from index.service import SearchIndex
from index.storage.metadata import (
    Facet,
    InvalidMetadata,
    Metadata,
    describe_index,
    find_metadata_problems,
    format_corpus_description,
    is_listable,
    make_facet,
    parse_metadata,
    read_metadata,
    write_metadata,
)
from tests.loops import loop_over
from tests.repositories import Repo

VALID_METADATA: dict[str, Any] = {
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


def test_metadata_is_written_next_to_the_index(index: SearchIndex, repo: Repo) -> None:
    assert index.metadata() is None
    index.update_to_tip()
    folder = index.status().folder
    assert folder is not None
    data = json.loads((folder / "metadata.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", data["stats"].pop("indexed_at"))
    assert data == {
        "metadata_version": "1.1.0",
        "corpus_description": "documentation of docs",
        "taxonomy": {
            "type": {"values": ["api_spec", "runbook"]},
            "tags": {"values": ["network", "sdk"]},
        },
        "stats": {"total_chunks": 8, "total_files": 4, "source_commit": repo.head()},
        "embedding": None,
    }


def test_metadata_is_updated_with_each_commit(open_index: Callable[[], SearchIndex], repo: Repo) -> None:
    index = open_index()
    index.update_to_tip()
    repo.commit(
        {
            "docyard.toml": '[corpus]\ndescription = "Handbook"\n',
            "guides/retries.md": "---\ntags: [Zoo, ' ', '" + "x" * 129 + '\', "a\\u202Eb"]\n---\n# R\n',
        }
    )
    index.update_to_tip()
    metadata = index.metadata()
    assert metadata is not None
    assert metadata == open_index().metadata()
    assert metadata.corpus_description == "Handbook"
    assert metadata.taxonomy["tags"].values == ("Zoo", "network")
    assert metadata.taxonomy["type"].values == ("api_spec",)
    assert metadata.stats.source_commit == repo.head()


def test_new_filter_values_are_written_immediately(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    repo.commit({"new.md": "---\ntags: [fresh]\n---\n# New\n"})
    index.update_to_tip()
    metadata = read_metadata(index.status().folder / "metadata.json")  # type: ignore[operator]
    assert metadata == index.metadata()
    assert metadata is not None
    assert metadata.taxonomy["tags"].values == ("fresh", "network", "sdk")


def test_changed_stats_are_returned_immediately_and_written_on_close(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    file = index.status().folder / "metadata.json"  # type: ignore[operator]
    repo.commit({"new.md": "# New\n"})
    index.update_to_tip()
    metadata = index.metadata()
    assert metadata is not None
    assert (metadata.stats.source_commit, metadata.stats.total_files) == (repo.head(), 5)
    index.close()
    assert read_metadata(file) == metadata


def test_late_stats_do_not_overwrite_newer_metadata(
    open_index: Callable[[], SearchIndex], repo: Repo
) -> None:
    slow_index, fast_index = open_index(), open_index()
    slow_index.update_to_tip()
    repo.commit({"new.md": "# New\n"})
    slow_index.update_to_tip()
    repo.commit({"newer.md": "# Newer\n"})
    fast_index.update_to_tip()
    fast_index.close()
    slow_index.close()
    metadata = open_index().metadata()
    assert metadata is not None
    assert (metadata.stats.source_commit, metadata.stats.total_files) == (repo.head(), 6)


def test_unchanged_metadata_is_the_same_object(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    metadata = index.metadata()
    file = index.status().folder / "metadata.json"  # type: ignore[operator]
    file.touch()
    assert index.metadata() is metadata
    assert index.metadata() is metadata


def test_metadata_of_another_process_is_returned(open_index: Callable[[], SearchIndex], repo: Repo) -> None:
    reader, writer = open_index(), open_index()
    assert reader.metadata() is None
    reader.update_to_tip()
    repo.commit({"new.md": "---\ntags: [fresh]\n---\n# New\n"})
    writer.update_to_tip()
    metadata = reader.metadata()
    assert metadata is not None
    assert metadata == writer.metadata()
    assert "fresh" in metadata.taxonomy["tags"].values


@pytest.mark.parametrize("size", [0, 10, 200])
def test_torn_metadata_file_is_ignored_and_rewritten(
    open_index: Callable[[], SearchIndex], repo: Repo, size: int
) -> None:
    index = open_index()
    index.update_to_tip()
    file = index.status().folder / "metadata.json"  # type: ignore[operator]
    data = file.read_bytes()
    file.write_bytes(data[:size])
    reader = open_index()
    assert reader.metadata() is None
    reader.update_to_tip()
    assert file.read_bytes() == data


def test_example_metadata_is_read_and_normalised() -> None:
    metadata = parse_metadata(json.dumps(VALID_METADATA).encode())
    assert metadata.taxonomy["scope"].values == ("global-guide", "sdk-specific")
    embedding = {"provider": "openai", "model": "text-embedding-3-large", "dimensions": 3072}
    assert (
        parse_metadata(json.dumps({**VALID_METADATA, "embedding": embedding}).encode()).embedding is not None
    )
    other_fields = {key: value for key, value in VALID_METADATA["stats"].items() if key != "source_commit"}
    assert (
        parse_metadata(json.dumps({**VALID_METADATA, "stats": other_fields}).encode()).stats.source_commit
        is None
    )


def replace_value(field: str, value: object) -> dict[str, Any]:
    metadata = json.loads(json.dumps(VALID_METADATA))
    target = metadata
    *parents, last = field.split(".")
    for parent in parents:
        target = target[parent]
    target[int(last) if isinstance(target, list) else last] = value
    return dict(metadata)


def test_taxonomy_values_at_every_limit_are_accepted() -> None:
    keys = [f"{i:064}" for i in range(64)]
    values = [f"{i:0128}" for i in range(512)]
    metadata = parse_metadata(
        json.dumps({**VALID_METADATA, "taxonomy": {key: {"values": values} for key in keys}}).encode()
    )
    assert list(metadata.taxonomy) == keys
    assert list(metadata.taxonomy[keys[-1]].values) == values


def test_taxonomy_limits_apply_after_trimming() -> None:
    values = [text for i in range(511) for text in (f" {i} ", f"{i}")] + [" " * 99 + "x" * 128]
    taxonomy = {" " + "k" * 64 + " ": {"values": values}}
    metadata = parse_metadata(json.dumps({**VALID_METADATA, "taxonomy": taxonomy}).encode())
    assert list(metadata.taxonomy) == ["k" * 64]
    assert len(metadata.taxonomy["k" * 64].values) == 512


@loop_over("version", ["1.0.0", "1.1.7", "1.99.0", "1.18446744073709551616.0"])
def test_any_minor_version_with_unknown_fields_is_read(version: str) -> None:
    data = {**VALID_METADATA, "metadata_version": version, "later": {"a": 1}}
    assert (
        parse_metadata(json.dumps(data).encode()).corpus_description == VALID_METADATA["corpus_description"]
    )


@loop_over(
    "time", ["2026-02-21T14:32:00.123Z", "2026-02-21T14:32:00+00:00", "2026-02-21T14:32Z", "20260221T143200Z"]
)
def test_utc_times_are_accepted(time: str) -> None:
    assert find_metadata_problems(json.dumps(replace_value("stats.indexed_at", time)).encode()) == []


def test_integer_written_as_float_is_accepted() -> None:
    data = json.dumps({**VALID_METADATA, "embedding": {"provider": "p", "model": "m", "dimensions": 3072.0}})
    metadata = parse_metadata(data.replace("2847", "2847.0").encode())
    assert metadata.embedding is not None
    assert (metadata.embedding.dimensions, metadata.stats.total_chunks) == (3072, 2847)
    assert b"3072.0" not in metadata.as_bytes()


@given(
    st.dictionaries(
        st.text("abc ", min_size=1, max_size=5).filter(str.strip),
        st.tuples(st.none() | st.text(max_size=9), st.lists(st.text("aB é\t", max_size=4).filter(str.strip))),
        max_size=5,
    ).filter(lambda keys: len({key.strip() for key in keys}) == len(keys)),
    st.none() | st.from_regex("[0-9a-f]{40}", fullmatch=True),
)
def test_written_metadata_equals_read_metadata(
    keys: dict[str, tuple[str | None, list[str]]], commit: str | None
) -> None:
    taxonomy = {
        key: {"values": values} | ({} if text is None else {"description": text})
        for key, (text, values) in keys.items()
    }
    metadata = parse_metadata(
        json.dumps(
            {
                **VALID_METADATA,
                "taxonomy": taxonomy,
                "stats": {**VALID_METADATA["stats"], "source_commit": commit},
            }
        ).encode()
    )
    data = json.loads(metadata.as_bytes())
    assert parse_metadata(metadata.as_bytes()) == metadata
    assert list(data) == list(VALID_METADATA)
    assert list(data["stats"]) == list(VALID_METADATA["stats"])
    assert data["embedding"] is None
    assert data["stats"]["source_commit"] == commit
    for key, (text, values) in keys.items():
        facet = data["taxonomy"][key.strip()]
        assert facet.get("description") == text
        assert ("description" in facet) == (text is not None)
        assert facet["values"] == sorted({value.strip() for value in values})


@loop_over(
    ("field", "value"),
    [
        ("metadata_version", "1.1"),
        ("metadata_version", "1.1.0-beta"),
        ("metadata_version", 1),
        ("metadata_version", "2.0.0"),
        ("metadata_version", "01.1.0"),
        ("metadata_version", "1.1.0\n"),
        ("corpus_description", None),
        ("taxonomy.language.values.1", "  "),
        ("taxonomy.language.values.0", 7),
        ("taxonomy.language.description", 7),
        ("taxonomy.language.values", None),
        ("taxonomy.scope", []),
        ("taxonomy", None),
        ("taxonomy", {"a": {"values": []}, " a": {"values": []}}),
        ("taxonomy.limit", {"values": []}),
        ("taxonomy.language.values", [str(i) for i in range(513)]),
        ("taxonomy.language.values.0", "x" * 129),
        ("taxonomy", {"k" * 65: {"values": ["a"]}}),
        ("taxonomy", {" ": {"values": ["a"]}}),
        ("taxonomy", {f"k{i}": {"values": ["a"]} for i in range(65)}),
        ("stats.total_chunks", -1),
        ("stats.total_chunks", "7"),
        ("stats.total_files", 1.5),
        ("stats.total_files", True),
        ("stats.indexed_at", "yesterday"),
        ("stats.indexed_at", "2026-02-21T14:32:00"),
        ("stats.indexed_at", "2026-02-21T14:32:00+02:00"),
        ("stats.indexed_at", "2026-02-30T14:32:00Z"),
        ("stats.indexed_at", "2026-02-21"),
        ("stats.source_commit", "4D2F9B4D6A42C377815F9F6C7DB25A54D2AA9CF9"),
        ("stats.source_commit", "4d2f9b4d6a42c377815f9f6c7db25a54d2aa9cf9\n"),
        ("stats.source_commit", "4d2f9b4"),
        ("stats.source_commit", "4d2f9b4d6a42c377815f9f6c7db25a54d2aa9cf"),
        ("embedding", "none"),
        ("embedding", {"provider": "p", "model": "m", "dimensions": 0}),
        ("embedding", {"provider": "p", "model": "m", "dimensions": 0.5}),
        ("embedding", {"provider": "p", "model": "m", "dimensions": "3072"}),
        ("embedding", {"model": "m", "dimensions": 3072}),
    ],
)
def test_invalid_value_error_names_its_field(field: str, value: object) -> None:
    with pytest.raises(InvalidMetadata) as error:
        parse_metadata(json.dumps(replace_value(field, value)).encode())
    assert str(error.value.details["field"]).startswith(field)
    assert error.value.message == error.value.message.removesuffix(".")
    assert error.value.fix


@loop_over("field", ["metadata_version", "corpus_description", "taxonomy", "stats"])
def test_missing_required_field_is_reported(field: str) -> None:
    other_fields = {key: value for key, value in VALID_METADATA.items() if key != field}
    assert [problem.field for problem in find_metadata_problems(json.dumps(other_fields).encode())] == [field]


def test_every_invalid_field_is_listed() -> None:
    invalid_metadata = {
        "metadata_version": "1.x",
        "corpus_description": 3,
        "taxonomy": {
            "a": {"values": ["x", "", "y" * 129]},
            "b": {},
            " ": {"values": []},
            "limit": {"values": []},
            "k" * 65: {"values": []},
        },
        "stats": {"total_chunks": -1, "indexed_at": "", "source_commit": "abc"},
        "embedding": {"provider": "p", "model": "m", "dimensions": 0},
    }
    problems = find_metadata_problems(json.dumps(invalid_metadata).encode())
    assert [problem.field for problem in problems] == [
        "metadata_version",
        "corpus_description",
        "taxonomy.a.values.1",
        "taxonomy.a.values.2",
        "taxonomy.b.values",
        "taxonomy.",
        "taxonomy.limit",
        "taxonomy." + "k" * 64,
        "stats.total_chunks",
        "stats.total_files",
        "stats.indexed_at",
        "stats.source_commit",
        "embedding.dimensions",
    ]
    for problem in problems:
        assert problem.reason[0].islower()
        assert not problem.reason.endswith(".")


def test_control_characters_in_field_name_are_escaped() -> None:
    taxonomy: dict[str, Any] = {"\x1b[2J\u202eevil\n" + "x" * 100: {"values": []}}
    [problem] = find_metadata_problems(json.dumps({**VALID_METADATA, "taxonomy": taxonomy}).encode())
    assert problem.field.isprintable()


@loop_over("data", [b"", b"[]", b"{", b"\xff", b"null", b'{"a": NaN}'])
def test_invalid_metadata_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidMetadata):
        parse_metadata(data)


def test_facet_lists_printable_values_within_limits() -> None:
    facet = make_facet([" b ", "a", "B", "a", "", "x" * 129, "c\x00", "\u200b", "e\u202ef", "\U000e0041"])
    assert facet.values == ("B", "a", "b")
    assert make_facet([]).values == ()
    assert len(make_facet(str(i) for i in range(512)).values) == 512
    assert make_facet(str(i) for i in range(513)).values == ()
    assert make_facet([*(str(i) for i in range(512)), *("\x00" * i for i in range(1, 99))]).values != ()


@loop_over(
    ("value", "is_listed"),
    [
        ("Größe", True),
        ("日本 語", True),
        ("C++ / 1.0", True),
        ("", False),
        ("x" * 128, True),
        ("x" * 129, False),
        ("a\tb", False),
        ("a\u00adb", False),
        ("a\u2066b", False),
        ("a\u3164b", False),
        ("a\ufe01b", False),
        ("a\U000e0100b", False),
        ("a\ud800b", False),
        ("a\u00a0b", False),
    ],
)
def test_only_visible_values_are_listed(value: str, is_listed: bool) -> None:
    assert is_listable(value) is is_listed
    assert (make_facet([value]).values == (value,)) is is_listed
    if value and len(value) <= 128:
        assert (Facet.model_construct(values=(value,)).listed_values == (value,)) is is_listed


def build_metadata(keys: dict[str, str | None], values: dict[str, list[str]]) -> Metadata:
    return describe_index(State("a" * 40, 2, 3, 4, "2026-02-21T14:32:00Z"), values, "Docs", keys)


def test_declared_keys_are_listed_in_order_with_descriptions() -> None:
    keys = {"scope": "The scope.", "empty": None, "many": "Too many.", "type": None, "tags": None}
    metadata = build_metadata(
        keys, {"scope": ["b", "a"], "many": [str(i) for i in range(513)], "tags": ["t"]}
    )
    assert json.loads(metadata.as_bytes())["taxonomy"] == {
        "scope": {"description": "The scope.", "values": ["a", "b"]},
        "empty": {"values": []},
        "many": {"description": "Too many.", "values": []},
        "tags": {"values": ["t"]},
    }
    assert list(metadata.taxonomy) == ["scope", "empty", "many", "tags"]


def test_64_declared_keys_displace_built_in_keys() -> None:
    keys = {f"k{i}": None for i in range(64)}
    values = {"type": ["a"], "tags": ["b"]}
    assert list(build_metadata({**keys, "type": None, "tags": None}, values).taxonomy) == list(keys)
    del keys["k0"]
    assert list(build_metadata({**keys, "type": None, "tags": None}, values).taxonomy) == [*keys, "type"]


def test_unchanged_values_of_a_key_reuse_its_facet() -> None:
    values = {"a": ["x", "y"]}
    first_metadata, second_metadata = build_metadata({"a": None}, values), build_metadata({"a": None}, values)
    assert first_metadata.taxonomy["a"] is second_metadata.taxonomy["a"]


@loop_over(
    ("setting", "name", "description"),
    [
        ("Handbook", "docs", "Handbook"),
        (None, "docs", "documentation of docs"),
        (" \n ", "docs", "documentation of docs"),
        ("two\nlines\tand  gaps", "docs", "two lines and gaps"),
        ("a\u202eb\x1b[2Jc\u2028d", "docs", "a b [2Jc d"),
        ("\u0646\u200c\u0627", "docs", "\u0646\u200c\u0627"),
        (None, "\udcff", "documentation of"),
        ("x" * 900, "docs", "x" * 500),
    ],
)
def test_corpus_description_is_one_printable_line(setting: str | None, name: str, description: str) -> None:
    assert format_corpus_description(setting, name) == description


def test_description_is_equal_before_and_after_first_indexing(
    open_index: Callable[[], SearchIndex], repo: Repo
) -> None:
    assert open_index().description() == "documentation of docs"
    repo.commit({"docyard.toml": '[corpus]\ndescription = "The\\nHandbook"\n'})
    index = open_index()
    assert (index.metadata(), index.description()) == (None, "The Handbook")
    index.update_to_tip()
    metadata = index.metadata()
    assert metadata is not None
    assert (metadata.corpus_description, index.description()) == ("The Handbook", "The Handbook")


def test_invalid_settings_give_the_default_description(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"docyard.toml": "nonsense ="})
    assert index.description() == "documentation of docs"


def test_description_of_an_earlier_version_is_replaced(
    index: SearchIndex, open_index: Callable[[], SearchIndex]
) -> None:
    index.update_to_tip()
    metadata, folder = index.metadata(), index.status().folder
    assert metadata is not None
    assert folder is not None
    index.close()
    write_metadata(folder / "metadata.json", metadata.model_copy(update={"corpus_description": "docs"}))
    new_index = open_index()
    new_index.update_to_tip()
    assert new_index.description() == "documentation of docs"
    assert new_index.metadata() == metadata
