"""The union of event files: in any order, as often as one likes, and nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.proposals.discussion import find_first_name, unite_files

BLOBS = ["1" * 40, "2" * 40, "3" * 40]
NAMES = ["a.json", "b.json", "a", f"a~{'2' * 40}.json", f"a~{'1' * 40}~{'3' * 40}.json", "a~b.json"]
FILES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(BLOBS), max_size=6)


def contents(*versions: dict[str, str]) -> set[tuple[str, str]]:
    """Each file as it was given first, with its blob."""
    return {(find_first_name(name), blob) for files in versions for name, blob in files.items()}


@given(FILES, FILES, FILES)
def test_it_is_commutative_associative_and_idempotent(
    one: dict[str, str], two: dict[str, str], three: dict[str, str]
) -> None:
    assert unite_files([one, two]) == unite_files([two, one])
    assert (
        unite_files([unite_files([one, two]), three])
        == unite_files([one, unite_files([two, three])])
        == unite_files([one, two, three])
    )
    both = unite_files([one, two])
    assert unite_files([both, both]) == unite_files([both, one]) == unite_files([both]) == both


@given(FILES, FILES)
def test_nothing_is_lost_and_nothing_is_made_up(one: dict[str, str], two: dict[str, str]) -> None:
    both = unite_files([one, two])
    assert contents(both) == contents(one, two)
    assert len(both) == len(contents(both))


def test_two_files_of_one_name_are_both_kept() -> None:
    assert unite_files([{"a.json": BLOBS[1]}, {"a.json": BLOBS[0]}]) == {
        "a.json": BLOBS[0],
        f"a~{BLOBS[1]}.json": BLOBS[1],
    }
