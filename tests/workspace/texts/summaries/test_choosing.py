"""What is kept: never more than there is room for, of every section something before much of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.texts.summaries.summary import PassageChoice, choose_passages

SECTIONS = 4
CHOICES = st.lists(
    st.builds(
        PassageChoice,
        section=st.integers(0, SECTIONS - 1),
        place=st.integers(0, 1_000),
        worth=st.floats(0.1, 10),
        cost=st.integers(1, 60),
    ),
    max_size=40,
    unique_by=lambda choice: (choice.section, choice.place),
)


@given(CHOICES, st.integers(0, 300))
def test_choices_fill_the_budget(choices: list[PassageChoice], room: int) -> None:
    kept = choose_passages(choices, [100] * SECTIONS, room)
    spent = sum(choice.cost for choice in kept)
    assert spent <= room
    assert len(set(kept)) == len(kept)
    left = set(choices) - set(kept)
    assert spent >= room or all(choice.cost > room - spent for choice in left)


@given(CHOICES, st.integers(0, 300), st.randoms())
def test_order_of_choices_does_not_matter(choices: list[PassageChoice], room: int, random: object) -> None:
    shuffled = list(choices)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert choose_passages(choices, [100] * SECTIONS, room) == choose_passages(
        shuffled, [100] * SECTIONS, room
    )


def test_every_section_gets_its_share() -> None:
    rich = [PassageChoice(0, place, 10.0, 20) for place in range(50)]
    poor = [PassageChoice(section, 0, 5.0, 20) for section in (1, 2, 3)]
    kept = choose_passages([*rich, *poor], [1_000, 100, 100, 100], 20 * 8)
    assert {choice.section for choice in kept} == {0, 1, 2, 3}


def test_weight_is_relative_to_cost() -> None:
    kept = choose_passages([PassageChoice(0, 0, 6.0, 100), PassageChoice(0, 1, 6.0, 20)], [500], 100)
    assert kept[0].place == 1
