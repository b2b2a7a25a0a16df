"""Parsing of document types: accepted files, and the error of each refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import InvalidTemplate, TemplateSection, parse_type
from tests.loops import loop_over

VALID_TOML = b'title = "Incident review"\nsummary = "What went wrong and what changes."\n'
VALID_MARKDOWN = b"# {title}\n\n## Impact\n\n## Timeline\n"

pytestmark = pytest.mark.smoke


def get_parse_error(
    toml: bytes = VALID_TOML, markdown: bytes = VALID_MARKDOWN, name: str = "incident"
) -> InvalidTemplate:
    with pytest.raises(InvalidTemplate) as error_info:
        parse_type(name, toml, markdown)
    return error_info.value


def test_complete_type_is_parsed() -> None:
    toml = VALID_TOML + (
        b'instructions = ["Begin with\\n  the impact"]\nbest_practices = ["No blame"]\n'
        b'[sections]\nImpact = "Who, how long"\n"What we learned" = "Causes"\n'
    )
    document_type = parse_type(
        "incident", toml, b"# {title}\n\n## Impact\n\nUsers:\n\n### What we learned ##\n"
    )
    assert document_type.name == "incident"
    assert document_type.title == "Incident review"
    assert document_type.instructions == ("Begin with the impact",)
    assert document_type.best_practices == ("No blame",)
    assert document_type.sections == (
        TemplateSection("Impact", 2, "Who, how long"),
        TemplateSection("What we learned", 3, "Causes"),
    )
    assert document_type.structure == "# {title}\n\n## Impact\n\nUsers:\n\n### What we learned\n"


def test_guidance_is_optional() -> None:
    document_type = parse_type("plain", VALID_TOML, VALID_MARKDOWN)
    assert document_type.guidance == ""
    assert [section.guidance for section in document_type.sections] == ["", ""]


@loop_over(
    ("markdown", "structure"),
    [
        (b"", "# {title}\n"),
        (b"\n\n", "# {title}\n"),
        (b"# {title}", "# {title}\n"),
        (b"#   {title} #\r\n\r\n## A\r\n", "# {title}\n\n## A\n"),
        (b"## A\n", "# {title}\n\n## A\n"),
        (b"\xef\xbb\xbf# {title}\n## A", "# {title}\n## A\n"),
        (b"Intro\n\n---\n\n## A\n", "# {title}\n\nIntro\n\n---\n\n## A\n"),
        (b"## A\n\n````\n# no heading\n```\n## nor this\n````\n", None),
        (b"## A\n\n~~~ x\n## A\n~~~\n", None),
        (b"## A\n\n<!--\n## A\n-->\n", None),
        (b"## A\n\n<!-- hint -->\n\n#hashtag\n", None),
    ],
)
def test_structure_is_normalized(markdown: bytes, structure: str | None) -> None:
    document_type = parse_type("plain", VALID_TOML, markdown)
    assert document_type.structure == (structure or "# {title}\n\n" + markdown.decode())
    assert [section.title for section in document_type.sections] == (["A"] if b"## A" in markdown else [])


@loop_over("name", ["", "Incident", "1st", "a-b", "a.b", "../x", "a\n", "a" * 42, "é"])
def test_invalid_name_is_refused(name: str) -> None:
    assert get_parse_error(name=name).field == "name"


def test_longest_name_is_accepted() -> None:
    assert parse_type("a" * 41, VALID_TOML, VALID_MARKDOWN).name == "a" * 41


@loop_over(
    ("toml", "field", "message_part"),
    [
        (b"", "title", "required"),
        (b'title = "T"', "summary", "required"),
        (b"title = 3\n", "title", "string"),
        (b'title = "  "\n', "title", "empty"),
        (b'title = "' + b"x" * 81 + b'"', "title", "at most 80"),
        (b'title = "a\\u202eb"', "title", "U+202E"),
        (VALID_TOML + b'instructions = "one"', "instructions", "list"),
        (VALID_TOML + b'instructions = ["one", 2]', "instructions[1]", "string"),
        (VALID_TOML + b"instructions = [" + b'"x",' * 31 + b"]", "instructions", "at most 30"),
        (VALID_TOML + b'best_practices = ["' + b"x" * 601 + b'"]', "best_practices[0]", "at most 600"),
        (VALID_TOML + b'instruction = ["one"]', "instruction", "instructions"),
        (VALID_TOML + b"zzz = 1", "zzz", "title, summary"),
        (VALID_TOML + b"sections = 1", "sections", "table"),
        (VALID_TOML + b"[sections]\nImpact = 1", "sections.Impact", "string"),
        (VALID_TOML + b'[sections]\nTimelin = "x"', "sections.Timelin", "no heading"),
        (VALID_TOML + b'[sections]\n"' + b"x" * 201 + b'" = "x"', "sections", "at most 200"),
        (VALID_TOML + b'"\\u0007" = 1', "type.toml", "U+0007"),
        (b"title = secret words", "type.toml", "at line 1"),
        (b"x = " + b"[" * 20_000, "type.toml", "deeply"),
        (b"#" * 32_001, "type.toml", "32001 bytes"),
        (b"title = '\xff'", "type.toml", "byte 9"),
        (b"title = '\x00'", "type.toml", "U+0000"),
    ],
)
def test_invalid_type_toml_raises_error_with_field(toml: bytes, field: str, message_part: str) -> None:
    error = get_parse_error(toml=toml)
    assert error.field == field
    assert message_part in error.message
    assert "secret" not in str(error)


@loop_over(
    ("markdown", "message_part"),
    [
        (b"---\ntype: x\n---\n# {title}\n", "line 1: a type must have no front matter"),
        (b"# Incident\n", "line 1: the only level-1"),
        (b"# {title}\n\n# Other\n", "line 3: the only level-1"),
        (b"Intro\n\n# {title}\n", "line 3: the only level-1"),
        (b"# {title}\n\n##\n", "line 3: a heading must have a title"),
        (b"# {title}\n\n### Deep\n", "line 3: a heading must be at most one level"),
        (b"## A\n\n## a\n", "line 3: another heading"),
        (b"## A {#a}\n", "no anchor"),
        (b"## A <#a>\n", "no anchor"),
        (b'## <a id="x"></a>A\n', "no anchor"),
        (b"  ## A\n", "line 1: a heading must begin at the start"),
        (b"Impact\n===\n", "line 2: a heading must be written with `#`"),
        (b"Impact\n---\n", "line 2: a heading must be written with `#`"),
        (b"## " + b"x" * 201, "at most 200"),
        (b"".join(b"## %d\n" % number for number in range(61)), "line 61: a type must have at most 60"),
        (b"x" * 64_001, "64001 bytes"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b"# {title}\x00\n", "U+0000"),
        (b"## A\n\n```\n## B\n", "line 4: a code fence or a comment is not closed"),
        (b"## A\n\n<!-- hint\n", "line 3: a code fence or a comment is not closed"),
    ],
)
def test_invalid_document_md_raises_error_with_message(markdown: bytes, message_part: str) -> None:
    error = get_parse_error(markdown=markdown)
    assert error.field == "document.md"
    assert message_part in error.message


@given(toml=st.binary(max_size=200), markdown=st.binary(max_size=200))
def test_any_bytes_return_type_or_raise_invalid_template(toml: bytes, markdown: bytes) -> None:
    for sources in ((toml, markdown), (VALID_TOML, markdown), (VALID_TOML + toml, VALID_MARKDOWN)):
        try:
            document_type = parse_type("any", *sources)
        except InvalidTemplate:
            continue
        assert (
            parse_type("any", VALID_TOML, document_type.structure.encode()).structure
            == document_type.structure
        )


@given(
    st.lists(st.sampled_from(["# {title}", "## A", "### B", "text", "", "---", "```", "<!--", "-->", "> q"]))
)
def test_structure_begins_with_title_and_is_stable(lines: list[str]) -> None:
    try:
        document_type = parse_type("any", VALID_TOML, "\n".join(lines).encode())
    except InvalidTemplate:
        return
    assert document_type.structure.startswith("# {title}\n")
    assert document_type.structure.endswith("\n")
    assert parse_type("any", VALID_TOML, document_type.structure.encode()) == document_type
