"""Handles name people: owners of tokens first; texts mention people outside of code, links and addresses."""

from __future__ import annotations

from tests.loops import loop_over
from workspace.policy.tokens import Person
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.participants import Participants

ANA = Person("ana", "Ana Li", "ana.li@example.org")
ANA_LAPTOP = Person("laptop", "Ana Li", "Ana.Li@example.org")
BEN = Person("ben", "Ben", "b@example.org")
CARLA = Author("Carla Ö", "carla@example.org", IdentitySource.GIT)
FALSE_BEN = Author("ben", "mallory@example.org", IdentitySource.GIT)


def make_people() -> Participants:
    return Participants([ANA, ANA_LAPTOP, BEN], [CARLA, FALSE_BEN])


@loop_over(
    ("handle", "email"),
    [
        ("ana", "ana.li@example.org"),
        ("@LAPTOP", "ana.li@example.org"),
        ("ana.li", "ana.li@example.org"),
        ("Ana-Li", "ana.li@example.org"),
        ("b", "b@example.org"),
        ("carla-ö", "carla@example.org"),
        ("ben", "b@example.org"),
        ("mallory", "mallory@example.org"),
        ("dan", None),
        ("", None),
    ],
)
def test_handle_names_person(handle: str, email: str | None) -> None:
    person = make_people().find_by_handle(handle)
    assert (person.email if person else None) == email


def test_handle_of_two_people_names_none() -> None:
    people = Participants([], [Author(name, f"al@{name}.org", IdentitySource.GIT) for name in ("one", "two")])
    assert people.find_by_handle("al") is None
    assert people.find_by_handle("two") is not None


def test_person_is_found_by_address_and_whole_name() -> None:
    people = make_people()
    assert people.find("Carla ö") == people.find("CARLA@example.org") == people.find_by_handle("carla")
    assert people.find("Carla") == people.find("@carla")
    assert people.find("nobody") is None
    assert [person.tokens for person in people][:2] == [("ana", "laptop"), ("ben",)]


@loop_over(
    ("text", "handles"),
    [
        ("@ana, please", ["ana"]),
        ("Ask (@ana) and *@ben*, or @ana.", ["ana", "ben"]),
        ("- item @ben\n\n> @ana.li!", ["ben", "ana.li"]),
        ("| a |\n|---|\n| @ana |", ["ana"]),
        ("# @ana", ["ana"]),
        ("mail ana@ana or b@ben.org", []),
        ("`@ana` and\n\n    @ana\n\n```\n@ben\n```", []),
        ("[@ana](x.md) <a title='@ben'>x</a> https://x.org/@ben", []),
        ("@ana/docs @@ana a@ana @ana@ben \\@dan", []),
        ("@ben-", ["ben"]),
        ("", []),
        ("@", []),
    ],
)
def test_text_mentions_people(text: str, handles: list[str]) -> None:
    assert list(make_people().find_mentions(text)) == handles


def test_mentioned_person_is_listed_once() -> None:
    people = make_people().list_mentioned("@ana @laptop @Ana-Li @ben")
    assert [person.name for person in people] == ["Ana Li", "Ben"]


def test_huge_text_has_few_mentions() -> None:
    text = " ".join(f"@a{number}" for number in range(100))
    people = Participants([], [Author("", f"a{n}@x.org", IdentitySource.GIT) for n in range(100)])
    assert len(people.list_mentioned(text)) == 50
