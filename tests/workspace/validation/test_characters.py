"""Findings of characters and bytes that the fences of examples cannot contain.

These are invisible characters, bidirectional controls, bytes that are not UTF-8, lost characters, and lines
of invisible space.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.validation.memory import check_texts
from tests.workspace.validation.test_cases import apply_fixes
from workspace.validation.characters import find_invisible_characters

INVISIBLE_RULE, BIDIRECTIONAL_RULE = "invisible-character", "bidirectional-control"


def find_rules(text: str | bytes) -> list[str]:
    return [finding.rule for finding in check_texts({"a.md": text})]


@loop_over(
    ("character", "name"),
    [
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\u2060", "U+2060 WORD JOINER"),
        ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\u00ad", "U+00AD SOFT HYPHEN"),
        ("\u200d", "U+200D ZERO WIDTH JOINER"),
        ("\u200e", "U+200E LEFT-TO-RIGHT MARK"),
        ("\u2028", "U+2028 LINE SEPARATOR"),
        ("\u3164", "U+3164 HANGUL FILLER"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("\x07", "U+0007 CONTROL"),
        ("\x85", "U+0085 CONTROL"),
    ],
)
def test_invisible_character_is_reported_with_its_position(character: str, name: str) -> None:
    [finding] = check_texts({"a.md": f"# Ä\n\nüb{character}er\n"})
    assert (finding.rule, finding.line, finding.column, finding.end_column) == (INVISIBLE_RULE, 3, 3, 4)
    assert finding.message == f"the invisible character {name} is not needed here"


def test_invisible_characters_are_those_of_the_selected_ranges() -> None:
    ranges = {
        (0x01, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C),
        (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E),
        (0x2060, 0x206F), (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB),
        (0xE0000, 0xE007F),
    }  # fmt: skip
    invisible = {chr(code) for start, end in ranges for code in range(start, end + 1)}
    codes = (code for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF)
    text = "".join(map(chr, codes))
    assert {character for _, _, character in find_invisible_characters(text.encode())} == invisible


@loop_over(
    "text",
    [
        "\ufeff# A byte-order mark at the start\n",
        "# Family \U0001f468\u200d\U0001f469\u200d\U0001f467 and \u2764\ufe0f\u200d\U0001f525\n",
        "# Flag \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\n",
        "# \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n",  # Persian, with a non-joiner between letters
        "# \u0915\u094d\u200d\u0937\n",  # Devanagari
        "# \u05e9\u05dc\u05d5\u05dd!\u200f\n",  # Hebrew, with a mark at its end
        "# Isolated \u2067\u05e9\u05dc\u05d5\u05dd\u2069 words\n",
        "# Caf\u00e9 \u00e0 la carte\u00a0: 100\u202f%\n",
    ],
)
def test_invisible_character_needed_by_script_is_not_reported(text: str) -> None:
    assert find_rules(text) == []


@loop_over("character", "\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
def test_bidirectional_control_is_an_error(character: str) -> None:
    [finding] = check_texts({"a.md": f"# A\n\nif admin{character} begin\n"})
    assert (finding.rule, finding.severity, finding.column) == (BIDIRECTIONAL_RULE, "error", 9)


def test_balanced_isolates_in_code_are_reported() -> None:
    text = "# A\n\n```\nx = '\u2067\u05e9\u05dc\u05d5\u05dd\u2069'\n```\n"
    assert find_rules(text) == [BIDIRECTIONAL_RULE, BIDIRECTIONAL_RULE]


def test_unclosed_isolate_is_reported() -> None:
    assert find_rules("# A \u2067\u05e9\u05dc\u05d5\u05dd\n") == [BIDIRECTIONAL_RULE]


def test_invisible_characters_in_anchors_links_and_front_matter_are_found() -> None:
    text = "---\ntitle: A\u200b\n---\n\n## B {#b\u200b}\n\n[x](#b\u200b)\n"
    findings = check_texts({"a.md": text}, INVISIBLE_RULE)
    assert [(finding.line, finding.column) for finding in findings] == [(2, 9), (5, 9), (7, 7)]
    assert [bool(finding.fix_splices) for finding in findings] == [False, True, True]


def test_fix_removes_only_unneeded_characters_outside_code() -> None:
    data = "# A\u200b\n\nso\u00adft\u2060\n\n    co\u200bde\n".encode()
    assert apply_fixes(data, check_texts({"a.md": data})) == "# A\n\nso\u00adft\n\n    co\u200bde\n".encode()


@loop_over(
    ("data", "message", "span"),
    [
        (b"# A\n\nb\xc3\xa4\xe4c\n", "the bytes here are not UTF-8", (3, 3, 4)),
        ("# A\n".encode("utf-16"), "the file is UTF-16, and is read as UTF-8", (1, 1, 3)),
        (b"# A\n\nb\0c\n", "a NUL byte, which CommonMark replaces by U+FFFD", (3, 2, 3)),
    ],
)
def test_invalid_utf8_utf16_and_nul_bytes_are_reported(
    data: bytes, message: str, span: tuple[int, int, int]
) -> None:
    findings = [finding for finding in check_texts({"a.md": data}, "encoding") if finding.message == message]
    assert [(finding.line, finding.column, finding.end_column) for finding in findings] == [span]


def test_replacement_characters_are_reported() -> None:
    [finding] = check_texts({"a.md": "# A\n\nM\ufffd\ufffdller\n"})
    assert (finding.rule, finding.line, finding.column, finding.end_column) == ("lost-character", 3, 2, 4)


@loop_over("space", ["\u00a0", "\u3000", " \u2003 "])
def test_line_of_invisible_space_is_reported(space: str) -> None:
    [finding] = check_texts({"a.md": f"# A\n\none\n{space}\ntwo\n\n```\n{space}\n```\n"})
    assert (finding.rule, finding.line, finding.message) == (
        "trailing-space",
        4,
        "the line looks blank but is not, so it ends no paragraph",
    )


COMMON_TEXTS = (
    "a",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "#",
    "-",
    "[",
    "]",
    "x",
    "(",
    ")",
    "{#x}",
    "`",
    "---\n",
    "a: b\n",
)
RARE_TEXTS = ("\\", "\0", "<a id=x>", "> ", *"\u200b\u200d\u2067\u2069\u05e9\u00e4\U0001f468\ufeff")
TEXTS = st.sampled_from((*COMMON_TEXTS, *RARE_TEXTS))


@given(st.lists(TEXTS, max_size=40).map("".join), st.binary(max_size=8))
def test_findings_are_in_document_and_second_fix_of_trailing_spaces_changes_nothing(
    text: str, noise: bytes
) -> None:
    data = text.encode() + noise
    findings = check_texts({"a.md": data})
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in findings:
        assert 1 <= finding.line <= finding.end_line <= len(lines)
        assert finding.column >= 1
        assert (finding.line, finding.column) <= (finding.end_line, finding.end_column)
        width = len(
            lines[finding.end_line - 1].removeprefix("\ufeff")
            if finding.end_line == 1
            else lines[finding.end_line - 1]
        )
        # A finding may include the line ending, which is after the last column.
        assert finding.end_column <= width + 2
    fixed_data = apply_fixes(data, findings)
    assert (
        apply_fixes(
            fixed_data,
            [finding for finding in check_texts({"a.md": fixed_data}) if finding.rule == "trailing-space"],
        )
        == fixed_data
    )
