"""Fixes of documents change only the reported lines, and a second run changes nothing."""

from __future__ import annotations

from hypothesis import given

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.documents import documents
from tests.workspace.validation.fixes.in_memory import build_fix_finder, fix_single_document
from workspace.config.config import WorkspaceConfig
from workspace.document.document import Document
from workspace.document.splices import Splice
from workspace.markdown.attribute_lists import AnchorForm
from workspace.validation.fixes.change import Fix
from workspace.validation.fixes.fix import apply_fixes, fix_document

ANCHOR_RULE = "missing-anchor"


@loop_over("case", read_cases("fix.md"))
def test_examples_are_fixed_as_described(case: Case) -> None:
    old_data = case.data("before")
    rules = case.json("rules") if "rules" in case.fences else [ANCHOR_RULE]
    result = fix_single_document(old_data, *rules)
    assert result.document.data == (case.data("after") if "after" in case.fences else old_data)
    assert fix_single_document(result.document.data, *rules).fixes == ()


@given(documents)
def test_added_anchors_change_only_headings_and_preserve_addresses(document: Document) -> None:
    result = fix_document(document, build_fix_finder({document.path: document.data}, ANCHOR_RULE))
    old_lines, new_lines = document.lines, result.document.lines
    headings = {
        line
        for section in document.sections
        if section.heading and not section.is_preamble
        for line in range(section.heading.block.line, section.heading.block.end)
    }
    changed_lines = {
        line for line in range(len(old_lines)) if old_lines.line_bytes(line) != new_lines.line_bytes(line)
    }
    assert len(old_lines) == len(new_lines)
    assert changed_lines <= headings
    for old_section, new_section in zip(document.sections, result.document.sections, strict=True):
        assert (old_section.title, old_section.level, old_section.parent) == (
            new_section.title,
            new_section.level,
            new_section.parent,
        )
        if old_section.key == old_section.address:
            assert new_section.address == old_section.address
    assert (
        fix_document(
            result.document, build_fix_finder({document.path: result.document.data}, ANCHOR_RULE)
        ).fixes
        == ()
    )


@given(documents)
def test_section_that_gets_no_anchor_is_reported(document: Document) -> None:
    result = fix_document(document, build_fix_finder({document.path: document.data}, ANCHOR_RULE))
    unfixed_lines = {entry.line for entry in result.fix_remarks}
    lines_without_anchor = {
        section.line
        for section in result.document.sections
        if section.heading and not section.is_preamble and section.anchor is None
    }
    assert lines_without_anchor <= unfixed_lines or not result.fixes


@given(documents)
def test_all_fixes_preserve_words_titles_and_levels(document: Document) -> None:
    rules = ("trailing-space", "malformed-task", "invisible-character", ANCHOR_RULE)
    result = fix_document(document, build_fix_finder({document.path: document.data}, *rules))
    assert [(entry.title, entry.level, entry.line) for entry in result.document.sections] == [
        (entry.title, entry.level, entry.line) for entry in document.sections
    ]
    assert result.document.front_matter == document.front_matter
    assert (
        fix_document(result.document, build_fix_finder({document.path: result.document.data}, *rules)).fixes
        == ()
    )


@loop_over("form", AnchorForm)
def test_document_without_anchors_gets_workspace_anchor_form(form: AnchorForm) -> None:
    data = b"# Guide\n\n## Errors\n"
    finder = build_fix_finder({"doc.md": data}, ANCHOR_RULE, settings=WorkspaceConfig(anchors=form))
    result = fix_document(Document.parse(data, "doc.md"), finder)
    assert result.document.sections[1].anchor == "errors"
    assert result.document.anchor_form is form


def test_headings_over_report_limit_all_get_anchors() -> None:
    heading_count = 2_500
    data = b"".join(b"## Heading %d\n" % number for number in range(heading_count))
    result = fix_single_document(data, ANCHOR_RULE)
    assert len(result.fixes) == heading_count
    assert all(section.anchor for section in result.document.sections)


def test_address_too_long_for_anchor_is_reported() -> None:
    result = fix_single_document(b"## " + b"a" * 1_001 + b"\n### Below\n", ANCHOR_RULE)
    assert result.document.data == b"## " + b"a" * 1_001 + b"\n### Below\n"
    assert [(entry.line, entry.rule) for entry in result.fix_remarks] == [
        (1, ANCHOR_RULE),
        (2, ANCHOR_RULE),
    ]
    assert all(
        "cannot be written" in entry.reason and len(entry.reason) < 300 for entry in result.fix_remarks
    )


def test_shared_address_is_reported() -> None:
    result = fix_single_document(b"## A {#x}\n### Codes\n## B {#x}\n### Codes\n", ANCHOR_RULE)
    assert [(entry.line, entry.reason) for entry in result.fix_remarks] == [
        (4, "its address was shared: 'x/codes' is now 'x/codes-1'")
    ]


def test_fix_that_would_make_heading_is_skipped_and_reported() -> None:
    document = Document.parse("text\n\n\ufeff## Errors\n".encode(), "doc.md")
    result = apply_fixes(document, [Fix("invisible-character", 3, Splice(6, 9, b""))])
    assert result.document is document
    assert [(entry.line, entry.rule) for entry in result.fix_remarks] == [(3, "invisible-character")]


def test_harmful_fix_of_one_rule_blocks_no_other_rule() -> None:
    document = Document.parse("- [] one\n\n\ufeff## Errors\n".encode(), "doc.md")
    harmful_fix = Fix("invisible-character", 3, Splice(10, 13, b""))
    result = apply_fixes(document, [harmful_fix, Fix("malformed-task", 1, Splice(2, 4, b"[ ]"))])
    assert result.document.data == "- [ ] one\n\n\ufeff## Errors\n".encode()


def test_rule_disabled_for_path_fixes_nothing_at_that_path() -> None:
    settings = WorkspaceConfig.read(
        b'[validate.rules]\nmissing-anchor = "note"\n'
        b'[[validate.override]]\nmatch = "old"\nrules = { missing-anchor = "off" }\n'
    )
    files = {"old/doc.md": b"## A\n", "new/doc.md": b"## A\n"}
    finder = build_fix_finder(files, settings=settings)
    assert fix_document(Document.parse(b"## A\n", "old/doc.md"), finder).fixes == ()
    assert fix_document(Document.parse(b"## A\n", "new/doc.md"), finder).document.data == b"## A {#a}\n"
