"""The built-in types: their order, the specification's own words, and the quality that all of them share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from templates import DocumentType, builtin_types, catalogue
from tests.loops import loop_over

pytestmark = pytest.mark.smoke

TYPES = tuple(builtin_types().values())

# The literal text of the product's specification for three types.
SPECIFIED = {
    "api_spec": (
        ("Endpoints", "Examples", "Tasks"),
        (
            "Research existing API patterns in the domain",
            "Define clear request/response schemas",
            "Include realistic examples with expected outputs",
            "Document error conditions and edge cases",
        ),
    ),
    "process_checklist": (
        ("Prerequisites", "Tasks", "Verification"),
        (
            "Break complex processes into atomic steps",
            "Define measurable completion criteria",
            "Order tasks by dependencies",
            "Include verification steps",
        ),
    ),
    "review_cleanup": (
        ("Findings", "Tasks", "Notes"),
        (
            "Document findings objectively with evidence",
            "Create actionable tasks from findings",
            "Include specific acceptance criteria",
            "Reference relevant documentation",
        ),
    ),
}


def test_specified_types_come_first_in_fixed_order() -> None:
    assert tuple(builtin_types()) == catalogue.BUILTIN
    assert tuple(builtin_types())[:3] == tuple(SPECIFIED)


def test_catalogue_lists_each_folder() -> None:
    home = Path(catalogue.__file__).parent
    assert {path.parent.name for path in home.glob("*/type.toml")} == set(catalogue.BUILTIN)


@loop_over("name", SPECIFIED)
def test_structures_and_instructions_match_specification(name: str) -> None:
    sections, instructions = SPECIFIED[name]
    kind = builtin_types()[name]
    assert tuple(section.title for section in kind.sections) == sections
    assert {section.level for section in kind.sections} == {2}
    assert kind.instructions[:4] == instructions
    assert kind.structure == "# {title}\n" + "".join(f"\n## {title}\n" for title in sections)


@loop_over("kind", TYPES, ids=lambda kind: kind.name)
def test_every_type_has_guidance(kind: DocumentType) -> None:
    assert kind.instructions
    assert len(kind.best_practices) >= 3
    assert all(section.guidance for section in kind.sections)
    # A model reads it in every conversation in which it writes such a document.
    assert len(kind.guidance) + sum(map(len, kind.best_practices)) < 4_000


@loop_over("kind", TYPES, ids=lambda kind: kind.name)
def test_headings_of_new_document_are_separated_by_blank_lines(kind: DocumentType) -> None:
    lines = [line for line in kind.structure.splitlines() if line]
    assert all(re.fullmatch(r"#{1,6} \S.*", line) for line in lines)
    assert "{#" not in kind.structure


def test_guidance_contains_instructions_and_sections() -> None:
    text = builtin_types()["api_spec"].guidance
    assert text.startswith("- Research existing API patterns in the domain\n- Define clear")
    assert "\n\nWhat belongs in each section:\n- Endpoints: One subsection" in text


def test_types_are_cached() -> None:
    assert builtin_types() is builtin_types()
