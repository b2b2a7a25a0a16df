"""The chosen passages are within the budget, and first include a passage of each section."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.texts.summaries.summary import PassageCandidate, choose_passages

SECTION_COUNT = 4
CANDIDATES = st.lists(
    st.builds(
        PassageCandidate,
        section=st.integers(0, SECTION_COUNT - 1),
        position=st.integers(0, 1_000),
        weight=st.floats(0.1, 10),
        cost=st.integers(1, 60),
    ),
    max_size=40,
    unique_by=lambda candidate: (candidate.section, candidate.position),
)


@given(CANDIDATES, st.integers(0, 300))
def test_chosen_passages_fill_the_budget(candidates: list[PassageCandidate], budget: int) -> None:
    selected_candidates = choose_passages(candidates, [100] * SECTION_COUNT, budget)
    total_cost = sum(candidate.cost for candidate in selected_candidates)
    assert total_cost <= budget
    assert len(set(selected_candidates)) == len(selected_candidates)
    remaining_candidates = set(candidates) - set(selected_candidates)
    assert total_cost >= budget or all(
        candidate.cost > budget - total_cost for candidate in remaining_candidates
    )


@given(CANDIDATES, st.integers(0, 300), st.randoms())
def test_order_of_candidates_does_not_change_the_choice(
    candidates: list[PassageCandidate], budget: int, rng: object
) -> None:
    shuffled_candidates = list(candidates)
    rng.shuffle(shuffled_candidates)  # type: ignore[attr-defined]
    assert choose_passages(candidates, [100] * SECTION_COUNT, budget) == choose_passages(
        shuffled_candidates, [100] * SECTION_COUNT, budget
    )


def test_passage_of_every_section_is_chosen() -> None:
    many_passages = [PassageCandidate(0, position, 10.0, 20) for position in range(50)]
    few_passages = [PassageCandidate(section, 0, 5.0, 20) for section in (1, 2, 3)]
    selected_candidates = choose_passages([*many_passages, *few_passages], [1_000, 100, 100, 100], 20 * 8)
    assert {candidate.section for candidate in selected_candidates} == {0, 1, 2, 3}


def test_candidate_with_more_weight_for_its_cost_is_chosen() -> None:
    selected_candidates = choose_passages(
        [PassageCandidate(0, 0, 6.0, 100), PassageCandidate(0, 1, 6.0, 20)], [500], 100
    )
    assert selected_candidates[0].position == 1
