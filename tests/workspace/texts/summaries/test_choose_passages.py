"""The choice of passages is within the budget, and includes a passage of each section first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.texts.summaries.summary import PassageChoice, choose_passages

SECTION_COUNT = 4
CHOICES = st.lists(
    st.builds(
        PassageChoice,
        section=st.integers(0, SECTION_COUNT - 1),
        position=st.integers(0, 1_000),
        weight=st.floats(0.1, 10),
        cost=st.integers(1, 60),
    ),
    max_size=40,
    unique_by=lambda choice: (choice.section, choice.position),
)


@given(CHOICES, st.integers(0, 300))
def test_choices_fill_the_budget(choices: list[PassageChoice], budget: int) -> None:
    selected_choices = choose_passages(choices, [100] * SECTION_COUNT, budget)
    total_cost = sum(choice.cost for choice in selected_choices)
    assert total_cost <= budget
    assert len(set(selected_choices)) == len(selected_choices)
    remaining = set(choices) - set(selected_choices)
    assert total_cost >= budget or all(choice.cost > budget - total_cost for choice in remaining)


@given(CHOICES, st.integers(0, 300), st.randoms())
def test_order_of_choices_does_not_matter(choices: list[PassageChoice], budget: int, rng: object) -> None:
    shuffled = list(choices)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert choose_passages(choices, [100] * SECTION_COUNT, budget) == choose_passages(
        shuffled, [100] * SECTION_COUNT, budget
    )


def test_every_section_gets_its_share() -> None:
    many_passages = [PassageChoice(0, position, 10.0, 20) for position in range(50)]
    few_passages = [PassageChoice(section, 0, 5.0, 20) for section in (1, 2, 3)]
    selected_choices = choose_passages([*many_passages, *few_passages], [1_000, 100, 100, 100], 20 * 8)
    assert {choice.section for choice in selected_choices} == {0, 1, 2, 3}


def test_weight_is_relative_to_cost() -> None:
    selected_choices = choose_passages(
        [PassageChoice(0, 0, 6.0, 100), PassageChoice(0, 1, 6.0, 20)], [500], 100
    )
    assert selected_choices[0].position == 1
