"""The built-in types: their order, the texts of the specification, and common quality rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from templates import DocumentType, builtin_types, catalogue
from tests.loops import loop_over

pytestmark = pytest.mark.smoke

TYPES = tuple(builtin_types().values())

# The literal text of the product's specification for three types.
SPECIFICATION_TEXTS = {
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
    assert tuple(builtin_types()) == catalogue.BUILTIN_NAMES
    assert tuple(builtin_types())[:3] == tuple(SPECIFICATION_TEXTS)


def test_catalogue_lists_each_folder() -> None:
    folder = Path(catalogue.__file__).parent
    assert {path.parent.name for path in folder.glob("*/type.toml")} == set(catalogue.BUILTIN_NAMES)


@loop_over("name", SPECIFICATION_TEXTS)
def test_structures_and_instructions_match_specification(name: str) -> None:
    sections, instructions = SPECIFICATION_TEXTS[name]
    document_type = builtin_types()[name]
    assert tuple(section.title for section in document_type.sections) == sections
    assert {section.level for section in document_type.sections} == {2}
    assert document_type.instructions[:4] == instructions
    assert document_type.structure == "# {title}\n" + "".join(f"\n## {title}\n" for title in sections)


@loop_over("document_type", TYPES, ids=lambda document_type: document_type.name)
def test_every_type_has_guidance(document_type: DocumentType) -> None:
    assert document_type.instructions
    assert len(document_type.best_practices) >= 3
    assert all(section.guidance for section in document_type.sections)
    # A model reads the guidance in every conversation in which it writes a document of the type.
    assert len(document_type.guidance) + sum(map(len, document_type.best_practices)) < 4_000


@loop_over("document_type", TYPES, ids=lambda document_type: document_type.name)
def test_headings_of_new_document_are_separated_by_blank_lines(document_type: DocumentType) -> None:
    lines = [line for line in document_type.structure.splitlines() if line]
    assert all(re.fullmatch(r"#{1,6} \S.*", line) for line in lines)
    assert "{#" not in document_type.structure


def test_guidance_contains_instructions_and_sections() -> None:
    text = builtin_types()["api_spec"].guidance
    assert text.startswith("- Research existing API patterns in the domain\n- Define clear")
    assert "\n\nWhat belongs in each section:\n- Endpoints: One subsection" in text


def test_walkthrough_has_no_sections_because_each_section_is_a_step() -> None:
    document_type = builtin_types()["walkthrough"]
    assert document_type.structure == "# {title}\n"
    assert document_type.sections == ()


def test_types_are_cached() -> None:
    assert builtin_types() is builtin_types()
