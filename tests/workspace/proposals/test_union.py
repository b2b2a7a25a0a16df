"""The union of event files does not depend on order or repetition, and loses no file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.proposals.discussion import merge_file_sets, strip_blob_suffix

BLOBS = ["1" * 40, "2" * 40, "3" * 40]
NAMES = ["a.json", "b.json", "a", f"a~{'2' * 40}.json", f"a~{'1' * 40}~{'3' * 40}.json", "a~b.json"]
FILES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(BLOBS), max_size=6)


def list_contents(*versions: dict[str, str]) -> set[tuple[str, str]]:
    """Return the original name of each file, with its blob."""
    return {(strip_blob_suffix(name), blob) for files in versions for name, blob in files.items()}


@given(FILES, FILES, FILES)
def test_union_is_commutative_associative_and_idempotent(
    first_files: dict[str, str], second_files: dict[str, str], third_files: dict[str, str]
) -> None:
    assert merge_file_sets([first_files, second_files]) == merge_file_sets([second_files, first_files])
    assert (
        merge_file_sets([merge_file_sets([first_files, second_files]), third_files])
        == merge_file_sets([first_files, merge_file_sets([second_files, third_files])])
        == merge_file_sets([first_files, second_files, third_files])
    )
    union = merge_file_sets([first_files, second_files])
    assert (
        merge_file_sets([union, union])
        == merge_file_sets([union, first_files])
        == merge_file_sets([union])
        == union
    )


@given(FILES, FILES)
def test_union_contains_exactly_all_files(first_files: dict[str, str], second_files: dict[str, str]) -> None:
    union = merge_file_sets([first_files, second_files])
    assert list_contents(union) == list_contents(first_files, second_files)
    assert len(union) == len(list_contents(union))


def test_two_files_of_one_name_are_both_preserved() -> None:
    assert merge_file_sets([{"a.json": BLOBS[1]}, {"a.json": BLOBS[0]}]) == {
        "a.json": BLOBS[0],
        f"a~{BLOBS[1]}.json": BLOBS[1],
    }
