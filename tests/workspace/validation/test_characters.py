"""Invisible characters and invalid bytes, which the fences of examples cannot show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.validation.memory import findings
from tests.workspace.validation.test_cases import apply_fixes
from workspace.validation.characters import find_invisible

INVISIBLE, BIDIRECTIONAL = "invisible-character", "bidirectional-control"


def rules(text: str | bytes) -> list[str]:
    return [one.rule for one in findings({"a.md": text})]


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
    [one] = findings({"a.md": f"# Ä\n\nüb{character}er\n"})
    assert (one.rule, one.line, one.column, one.end_column) == (INVISIBLE, 3, 3, 4)
    assert one.message == f"the invisible character {name} is not needed here"


def test_invisible_characters_equal_unicode_list() -> None:
    ranges = {
        (0x01, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C),
        (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E),
        (0x2060, 0x206F), (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB),
        (0xE0000, 0xE007F),
    }  # fmt: skip
    hidden = {chr(code) for first, last in ranges for code in range(first, last + 1)}
    codes = (code for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF)
    text = "".join(map(chr, codes))
    assert {character for _, _, character in find_invisible(text.encode())} == hidden


@loop_over(
    "text",
    [
        "\ufeff# A byte-order mark at the start\n",
        "# Family \U0001f468\u200d\U0001f469\u200d\U0001f467 and \u2764\ufe0f\u200d\U0001f525\n",
        "# Flag \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\n",
        "# \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n",  # Persian, with a joiner between letters
        "# \u0915\u094d\u200d\u0937\n",  # Devanagari
        "# \u05e9\u05dc\u05d5\u05dd!\u200f\n",  # Hebrew, with a mark at its end
        "# Isolated \u2067\u05e9\u05dc\u05d5\u05dd\u2069 words\n",
        "# Caf\u00e9 \u00e0 la carte\u00a0: 100\u202f%\n",
    ],
)
def test_invisible_character_needed_by_script_is_not_reported(text: str) -> None:
    assert rules(text) == []


@loop_over("character", "\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
def test_bidirectional_control_is_an_error(character: str) -> None:
    [one] = findings({"a.md": f"# A\n\nif admin{character} begin\n"})
    assert (one.rule, one.severity, one.column) == (BIDIRECTIONAL, "error", 9)


def test_balanced_isolates_in_code_are_reported() -> None:
    text = "# A\n\n```\nx = '\u2067\u05e9\u05dc\u05d5\u05dd\u2069'\n```\n"
    assert rules(text) == [BIDIRECTIONAL, BIDIRECTIONAL]


def test_unclosed_isolate_is_reported() -> None:
    assert rules("# A \u2067\u05e9\u05dc\u05d5\u05dd\n") == [BIDIRECTIONAL]


def test_invisible_characters_in_anchors_links_and_front_matter_are_found() -> None:
    text = "---\ntitle: A\u200b\n---\n\n## B {#b\u200b}\n\n[x](#b\u200b)\n"
    found = findings({"a.md": text}, INVISIBLE)
    assert [(one.line, one.column) for one in found] == [(2, 9), (5, 9), (7, 7)]
    assert [bool(one.fix_splices) for one in found] == [False, True, True]


def test_fix_removes_only_idle_characters_outside_code() -> None:
    data = "# A\u200b\n\nso\u00adft\u2060\n\n    co\u200bde\n".encode()
    assert apply_fixes(data, findings({"a.md": data})) == "# A\n\nso\u00adft\n\n    co\u200bde\n".encode()


@loop_over(
    ("data", "message", "place"),
    [
        (b"# A\n\nb\xc3\xa4\xe4c\n", "the bytes here are not UTF-8", (3, 3, 4)),
        ("# A\n".encode("utf-16"), "the file is UTF-16, and is read as UTF-8", (1, 1, 3)),
        (b"# A\n\nb\0c\n", "a NUL byte, which CommonMark replaces by U+FFFD", (3, 2, 3)),
    ],
)
def test_invalid_utf8_bytes_are_reported(data: bytes, message: str, place: tuple[int, int, int]) -> None:
    found = [one for one in findings({"a.md": data}, "encoding") if one.message == message]
    assert [(one.line, one.column, one.end_column) for one in found] == [place]


def test_replacement_characters_are_reported() -> None:
    [one] = findings({"a.md": "# A\n\nM\ufffd\ufffdller\n"})
    assert (one.rule, one.line, one.column, one.end_column) == ("lost-character", 3, 2, 4)


@loop_over("space", ["\u00a0", "\u3000", " \u2003 "])
def test_line_of_invisible_space_is_reported(space: str) -> None:
    [one] = findings({"a.md": f"# A\n\none\n{space}\ntwo\n\n```\n{space}\n```\n"})
    assert (one.rule, one.line, one.message) == (
        "trailing-space",
        4,
        "the line looks blank but is not, so it ends no paragraph",
    )


MARKS = (
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
RARE = ("\\", "\0", "<a id=x>", "> ", *"\u200b\u200d\u2067\u2069\u05e9\u00e4\U0001f468\ufeff")
LETTERS = st.sampled_from((*MARKS, *RARE))


@given(st.lists(LETTERS, max_size=40).map("".join), st.binary(max_size=8))
def test_findings_lie_in_document_and_fixes_change_only_them(text: str, noise: bytes) -> None:
    data = text.encode() + noise
    found = findings({"a.md": data})
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for one in found:
        assert 1 <= one.line <= one.end_line <= len(lines)
        assert one.column >= 1
        assert (one.line, one.column) <= (one.end_line, one.end_column)
        width = len(
            lines[one.end_line - 1].removeprefix("\ufeff") if one.end_line == 1 else lines[one.end_line - 1]
        )
        assert one.end_column <= width + 2
    again = apply_fixes(data, found)
    assert (
        apply_fixes(again, [one for one in findings({"a.md": again}) if one.rule == "trailing-space"])
        == again
    )
