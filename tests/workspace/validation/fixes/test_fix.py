"""Fixes of documents change only the reported places, and a second run changes nothing."""

from __future__ import annotations

from hypothesis import given

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.documents import documents
from tests.workspace.validation.fixes.in_memory import fix_one, fixers
from workspace.config.config import WorkspaceConfig
from workspace.document.document import Document
from workspace.document.splices import Splice
from workspace.markdown.attribute_lists import AnchorForm
from workspace.validation.fixes.change import Fix
from workspace.validation.fixes.fix import apply_fixes, fix_document

ANCHORS = "missing-anchor"


@loop_over("case", read_cases("fix.md"))
def test_examples_are_fixed_as_described(case: Case) -> None:
    before = case.data("before")
    rules = case.json("rules") if "rules" in case.fences else [ANCHORS]
    after = fix_one(before, *rules)
    assert after.document.data == (case.data("after") if "after" in case.fences else before)
    assert fix_one(after.document.data, *rules).fixes == ()


@given(documents)
def test_added_anchors_change_only_headings_and_preserve_addresses(document: Document) -> None:
    result = fix_document(document, fixers({document.path: document.data}, ANCHORS))
    before, after = document.lines, result.document.lines
    headings = {
        line
        for item in document.sections
        if item.heading and not item.is_preamble
        for line in range(item.heading.block.line, item.heading.block.end)
    }
    differing = {line for line in range(len(before)) if before.line_bytes(line) != after.line_bytes(line)}
    assert len(before) == len(after)
    assert differing <= headings
    for was, now in zip(document.sections, result.document.sections, strict=True):
        assert (was.title, was.level, was.parent) == (now.title, now.level, now.parent)
        if was.key == was.address:
            assert now.address == was.address
    assert fix_document(result.document, fixers({document.path: result.document.data}, ANCHORS)).fixes == ()


@given(documents)
def test_section_left_without_anchor_is_reported(document: Document) -> None:
    result = fix_document(document, fixers({document.path: document.data}, ANCHORS))
    left_lines = {one.line for one in result.left}
    unnamed = {
        item.line
        for item in result.document.sections
        if item.heading and not item.is_preamble and item.anchor is None
    }
    assert unnamed <= left_lines or not result.fixes


@given(documents)
def test_all_fixes_preserve_words_titles_and_levels(document: Document) -> None:
    rules = ("trailing-space", "malformed-task", "invisible-character", ANCHORS)
    result = fix_document(document, fixers({document.path: document.data}, *rules))
    assert [(one.title, one.level, one.line) for one in result.document.sections] == [
        (one.title, one.level, one.line) for one in document.sections
    ]
    assert result.document.front_matter == document.front_matter
    assert fix_document(result.document, fixers({document.path: result.document.data}, *rules)).fixes == ()


@loop_over("form", AnchorForm)
def test_document_without_anchors_gets_workspace_anchor_form(form: AnchorForm) -> None:
    data = b"# Guide\n\n## Errors\n"
    there = fixers({"doc.md": data}, ANCHORS, settings=WorkspaceConfig(anchors=form))
    result = fix_document(Document.parse(data, "doc.md"), there)
    assert result.document.sections[1].anchor == "errors"
    assert result.document.form is form


def test_headings_over_report_limit_all_get_anchors() -> None:
    data = b"".join(b"## Heading %d\n" % number for number in range(2_500))
    result = fix_one(data, ANCHORS)
    assert len(result.fixes) == 2_500
    assert all(item.anchor for item in result.document.sections)


def test_address_too_long_for_anchor_is_reported() -> None:
    result = fix_one(b"## " + b"a" * 1_001 + b"\n### Below\n", ANCHORS)
    assert result.document.data == b"## " + b"a" * 1_001 + b"\n### Below\n"
    assert [(one.line, one.rule) for one in result.left] == [(1, ANCHORS), (2, ANCHORS)]
    assert all("cannot be written" in one.reason and len(one.reason) < 300 for one in result.left)


def test_shared_address_is_reported() -> None:
    result = fix_one(b"## A {#x}\n### Codes\n## B {#x}\n### Codes\n", ANCHORS)
    assert [(one.line, one.reason) for one in result.left] == [
        (4, "it shared 'x/codes' with another, and is 'x/codes-1' now")
    ]


def test_fix_that_would_make_heading_is_skipped_and_reported() -> None:
    document = Document.parse("text\n\n\ufeff## Errors\n".encode(), "doc.md")
    result = apply_fixes(document, [Fix("invisible-character", 3, Splice(6, 9, b""))])
    assert result.document is document
    assert [(one.line, one.rule) for one in result.left] == [(3, "invisible-character")]


def test_harmful_fix_of_one_rule_blocks_no_other_rule() -> None:
    document = Document.parse("- [] one\n\n\ufeff## Errors\n".encode(), "doc.md")
    harmful = Fix("invisible-character", 3, Splice(10, 13, b""))
    result = apply_fixes(document, [harmful, Fix("malformed-task", 1, Splice(2, 4, b"[ ]"))])
    assert result.document.data == "- [ ] one\n\n\ufeff## Errors\n".encode()


def test_rule_disabled_for_path_fixes_nothing_there() -> None:
    settings = WorkspaceConfig.read(
        b'[validate.rules]\nmissing-anchor = "note"\n'
        b'[[validate.override]]\nmatch = "old"\nrules = { missing-anchor = "off" }\n'
    )
    files = {"old/doc.md": b"## A\n", "new/doc.md": b"## A\n"}
    there = fixers(files, settings=settings)
    assert fix_document(Document.parse(b"## A\n", "old/doc.md"), there).fixes == ()
    assert fix_document(Document.parse(b"## A\n", "new/doc.md"), there).document.data == b"## A {#a}\n"
