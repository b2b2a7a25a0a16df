"""A document is read as a walkthrough: description, technology and steps."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.document.document import Document
from workspace.document.walkthrough import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_TECHNOLOGY_CHARACTERS,
    Walkthrough,
    build_walkthrough,
)

pytestmark = pytest.mark.smoke

TEXT = """---
type: walkthrough
technology: [python, docker, python]
---

# First *calls*

Send your **first** request
with [the client](client.md).

More text.

## Install {#install}

```sh
## not a step
pip install client
```

### On Windows

Use `py`.

## Send

> ## not a step either

Run it.

## Send

Again.
"""


def read_text(text: str) -> Walkthrough:
    return build_walkthrough(Document.parse(text.encode(), "guides/first.md"))


def test_walkthrough_has_title_description_and_technology() -> None:
    walkthrough = read_text(TEXT)
    assert walkthrough.id == "guides/first.md"
    assert walkthrough.title == "First calls"
    assert walkthrough.description == "Send your first request with the client."
    assert walkthrough.technology == "python, docker"


def test_level_2_sections_are_steps_with_their_subsections() -> None:
    walkthrough = read_text(TEXT)
    assert [(step.number, step.title, step.address) for step in walkthrough.steps] == [
        (1, "Install", "guides/first.md#install"),
        (2, "Send", "guides/first.md#send"),
        (3, "Send", "guides/first.md#send-1"),
    ]
    first_step = walkthrough.steps[0]
    assert first_step.source.startswith("## Install {#install}\n\n```sh\n## not a step\n")
    assert first_step.source.endswith("### On Windows\n\nUse `py`.\n\n")
    assert "".join(step.source for step in walkthrough.steps) == TEXT[TEXT.index("## Install") :]
    assert walkthrough.find_step("send-1") == walkthrough.steps[2]
    assert walkthrough.find_step("other") is None


@loop_over(
    ("introduction", "description"),
    [
        ("", ""),
        ("[![badge](a.svg)](b)\n\n- a list\n\n<div>HTML</div>\n\nText.", "Text."),
        ("```\ncode\n```\n\n[label]: target.md\n", ""),
        ("### A subsection\n\nText.", ""),
        ("word " * 200, ("word " * 99).rstrip() + "…"),
        ("x" * 20_000, "x" * 499 + "…"),
        ("- item\n" * 10_000 + "\nText.", ""),
    ],
)
def test_description_is_the_shortened_first_paragraph_of_the_preamble(
    introduction: str, description: str
) -> None:
    walkthrough = read_text(f"# A\n\n{introduction}\n\n## Step\n\nOther text.\n")
    assert walkthrough.description == description
    assert len(walkthrough.description) <= MAX_DESCRIPTION_CHARACTERS


def test_text_above_the_title_is_not_the_description() -> None:
    assert read_text("Above.\n\n# A\n\nBelow.\n\n## Step\n").description == "Below."
    assert read_text("Only text.\n\n## Step\n").description == "Only text."


@loop_over(
    ("value", "technology"),
    [
        ("", None),
        ("technology: go", "go"),
        ("technology: [ go ,  '' , {a: b}, 3]", "go, 3"),
        ("technology: {name: go}", None),
        ("technology: []", None),
    ],
)
def test_technology_is_a_text_or_a_list_of_texts(value: str, technology: str | None) -> None:
    assert read_text(f"---\ntype: walkthrough\n{value}\n---\n\n# A\n").technology == technology


def test_long_technology_is_shortened() -> None:
    technology = read_text(f"---\ntechnology: [{', '.join(f't{i}' for i in range(500))}]\n---\n").technology
    assert technology is not None
    assert len(technology) <= MAX_TECHNOLOGY_CHARACTERS
    assert technology.endswith("…")


@loop_over("text", ["", "# A\n", "# A\n\n### Deep\n\n# B\n", "text\n", "---\ntitle: A\n---\n"])
def test_document_without_level_2_sections_has_no_steps(text: str) -> None:
    assert read_text(text).steps == ()


def test_steps_below_a_second_title_are_counted() -> None:
    steps = read_text("# A\n\n## One\n\n# B\n\n## Two\n").steps
    assert [(step.number, step.key) for step in steps] == [(1, "one"), (2, "b/two")]
