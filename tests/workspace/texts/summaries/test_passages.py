"""Passages, the candidates for a summary, are read from texts of every kind and classified."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.texts.summaries.code import read_log_passages, read_source_passages
from workspace.texts.summaries.passages import (
    PassageKind,
    classify_sentence,
    clip,
    find_signature,
    strip_markup,
)
from workspace.texts.summaries.prose import read_prose_passages

# The limit of 400 characters, a space and an ellipsis.
MAX_CLIPPED_LENGTH = 402


def list_passages(text: str) -> list[tuple[str, str]]:
    return [(passage.kind.name, passage.text) for passage in read_prose_passages(text)]


@loop_over(
    ("sentence", "kind"),
    [
        ("Clients MUST send a token.", PassageKind.REQUIREMENT),
        ("Names should be short.", PassageKind.SENTENCE),
        ("Names SHOULD be short.", PassageKind.REQUIREMENT),
        ("The field is required.", PassageKind.REQUIREMENT),
        ("Warning: this deletes data.", PassageKind.WARNING),
        ("**Note:** read this.", PassageKind.WARNING),
        ("The old flag is deprecated.", PassageKind.WARNING),
        ("A shard is a part of an index.", PassageKind.DEFINITION),
        ("**Shard**: a part of an index.", PassageKind.DEFINITION),
        ("`retries` - how often a call is made again.", PassageKind.DEFINITION),
        ("The timeout defaults to 30 seconds.", PassageKind.FIGURE),
        ("Up to 512 values are kept.", PassageKind.FIGURE),
        ("We like it here.", PassageKind.SENTENCE),
    ],
)
def test_sentence_is_classified_by_its_kind(sentence: str, kind: PassageKind) -> None:
    assert classify_sentence(sentence) is kind


def test_first_sentence_is_the_lead() -> None:
    assert list_passages("\nIt caches. It also logs.\n\nMore here.\n") == [
        ("LEAD", "It caches."),
        ("SENTENCE", "It also logs."),
        ("SENTENCE", "More here."),
    ]


def test_label_is_not_the_lead() -> None:
    assert [kind for kind, _ in list_passages("**Summary**\n\nIt caches.\n")] == ["SENTENCE", "LEAD"]


@loop_over(
    "text",
    [
        "> [!WARNING]\n> It burns.\n",
        "!!! warning\n    It burns.\n",
        ":::warning\nIt burns.\n:::\n",
        ".. warning::\n   It burns.\n",
        ".. warning:: It burns.\n",
        "WARNING: It burns.\n",
        "[WARNING]\nIt burns.\n",
        "{{< warning >}}\nIt burns.\n{{< /warning >}}\n",
        "> **Warning**: It burns.\n",
    ],
)
def test_warnings_are_found_in_every_markup(text: str) -> None:
    kinds_and_texts = [(kind, words) for kind, words in list_passages(text) if "It burns." in words]
    assert [kind for kind, _ in kinds_and_texts] == ["WARNING"]


def test_nested_quotations_need_no_recursion() -> None:
    assert list_passages(">   " * 5_000 + "Deep.\n")[0][1].startswith(">")
    assert list_passages("> > Twice quoted.\n") == [("LEAD", "Twice quoted.")]


def test_admonition_ends_with_its_paragraph() -> None:
    assert list_passages("Lead.\n\n!!! note\n    Mind it.\n\nBack again.\n") == [
        ("LEAD", "Lead."),
        ("WARNING", "Mind it."),
        ("SENTENCE", "Back again."),
    ]


def test_table_has_a_head_and_a_row_count() -> None:
    table = list(read_prose_passages("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nText.\n"))
    assert [(passage.kind, passage.text, passage.note) for passage in table[:3]] == [
        (PassageKind.TABLE, "| a | b |", "2 rows"),
        (PassageKind.ROW, "| 1 | 2 |", ""),
        (PassageKind.ROW, "| 3 | 4 |", ""),
    ]


def test_rule_below_text_is_not_a_table() -> None:
    assert all(kind != "TABLE" for kind, _ in list_passages("a | b\n-----\n\nc | d\n: - :\n"))


def test_only_open_tasks_outside_of_code_are_tasks() -> None:
    text = "- [ ] Ship it\n- [x] Done that\n\n```\n- [ ] not one\n```\n<!--\n- [ ] nor this\n-->\n"
    assert [words for kind, words in list_passages(text) if kind == "TASK"] == ["[ ] Ship it"]


def test_lines_without_words_are_not_passages() -> None:
    text = "***\n\n[label]: https://example.org\n\n<br/>\n\n<!-- a comment\nover lines -->\n\n![](x.png)\n"
    assert list_passages(text) == []


def test_term_stays_with_its_definition() -> None:
    assert list_passages("*hDest*<br/>\nA handle to the target.\n\nTerm\n: What it means.\n") == [
        ("DEFINITION", "*hDest* A handle to the target."),
        ("DEFINITION", "Term : What it means."),
    ]


@loop_over(
    ("source", "expected"),
    [
        ("See [the docs](https://example.org/a) now", "See the docs now"),
        ("A ![picture](x.png) here", "A here"),
        ("[a][b] and [c]", "a and [c]"),
        ("The cell t[0][1] of t", "The cell t[0][1] of t"),
        ("one<br/>two <kbd>x</kbd> <T> a < b", "one two x <T> a < b"),
        ("a <!-- hidden - --> b", "a b"),
        ("a <!-- closed --> b <!-- never closed", "a b <!-- never closed"),
        ('A {{< glossary_tooltip text="Pod" term_id="pod" >}} runs', "A Pod runs"),
        ("Title {#anchor}", "Title"),
        ("Set `--reserved=[a][,][b]` or `<b>` now", "Set `--reserved=[a][,][b]` or `<b>` now"),
        ("See [`run`](run.md) and [`a` or ``b`c``][x]", "See `run` and `a` or ``b`c``"),
        ("A private \ue000 mark `x`", "A private \ue000 mark `x`"),
        ("Call :py:func:`run` or :ref:`that <x>`", "Call `run` or `that <x>`"),
        ("`code` *stays* **so**", "`code` *stays* **so**"),
    ],
)
def test_markup_without_text_is_removed(source: str, expected: str) -> None:
    assert strip_markup(source) == expected


@loop_over(
    ("code", "signature"),
    [
        ("def run(self, limit: int = 3) -> None:\n    pass\n", "def run(self, limit: int = 3) -> None:"),
        ("# setup\nclass A(B):\n    x = 1\n", "class A(B):"),
        (
            "BOOL Blend(\n    HDC dest,\n    int x) throw();\n\nBOOL Other();\n",
            "BOOL Blend( HDC dest, int x) throw();",
        ),
        ("template <class T>\nT max(T a, T b);\n", "template <class T> T max(T a, T b);"),
        ("GET /v1/users/{id}\nAccept: json\n", "GET /v1/users/{id}"),
        ("$ docyard serve --read-only\n", "$ docyard serve --read-only"),
        ("pub async fn go(x: u8) -> u8 {\n", "pub async fn go(x: u8) -> u8 {"),
        ("export function f(a) {\n", "export function f(a) {"),
        ("x = f(1)\n", None),
        ("return f(1);\n", None),
        ("plain words\n", None),
        ("", None),
    ],
)
def test_signature_of_a_code_block_is_found(code: str, signature: str | None) -> None:
    assert find_signature(code.splitlines()) == signature


def test_source_code_has_declaration_and_comments() -> None:
    text = 'def run(x):\n    """Runs it. It must not fail."""\n    # TODO: be quick\n    return x\n'
    passages = list(read_source_passages(text, has_declaration=True))
    assert [(passage.kind, passage.text) for passage in passages] == [
        (PassageKind.SIGNATURE, "def run(x):"),
        (PassageKind.SENTENCE, "Runs it."),
        (PassageKind.REQUIREMENT, "It must not fail."),
        (PassageKind.TASK, "TODO: be quick"),
    ]


def test_module_docstring_is_the_leading_passage() -> None:
    passages = list(
        read_source_passages('"""A module.\n\nMore of it.\n"""\nimport os\n', has_declaration=False)
    )
    assert [(passage.kind, passage.text) for passage in passages] == [
        (PassageKind.LEAD, "A module."),
        (PassageKind.SENTENCE, "More of it."),
    ]


def test_log_has_its_first_and_last_lines_and_a_line_of_each_level() -> None:
    lines = [f"12:00:{second:02} INFO step {second}" for second in range(20)]
    lines[7] = lines[9] = "12:00:07 ERROR disk full"
    lines[8] = "12:00:08 WARN slow"
    passages = list(read_log_passages("\n".join(lines)))
    assert [p.text for p in passages if p.kind is PassageKind.LEAD] == [*lines[:3], *lines[-3:]]
    levels = [(p.text, p.note) for p in passages if p.kind is PassageKind.LEVEL]
    assert levels == [(lines[7], "2 lines with ERROR"), (lines[8], "1 line with WARN")]
    assert len(passages) == len(lines)


def test_long_passages_are_cut_between_words_with_a_mark() -> None:
    clipped_text = clip("word " * 200)
    assert clipped_text.endswith("word …")
    assert len(clipped_text) <= MAX_CLIPPED_LENGTH
    assert clip("short") == "short"
    assert len(clip("x" * 10_000)) <= MAX_CLIPPED_LENGTH


LINE_TEXTS = "# A|text. More|- item|- [ ] x|> quote|```|~~~|    code||<!--|-->|::|!!! note|:::|====|a\\|<br>"


@given(st.lists(st.sampled_from([*LINE_TEXTS.split("|"), "| a |", "|-|"])))
def test_any_lines_are_read(lines: list[str]) -> None:
    for passage in read_prose_passages("\n".join(lines)):
        assert "\n" not in passage.text
        assert passage.weight >= 0
