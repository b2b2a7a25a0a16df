"""The mutations of `make mutations` apply to the present code; a change of the code must update them."""

from __future__ import annotations

from tests.mutations import MUTATIONS, describe_mismatch


def test_each_mutation_applies_to_the_code() -> None:
    assert [mismatch for mutation in MUTATIONS if (mismatch := describe_mismatch(mutation)) is not None] == []


def test_each_mutation_has_unique_description() -> None:
    names = [mutation.guarantee for mutation in MUTATIONS]
    assert len(set(names)) == len(names)
