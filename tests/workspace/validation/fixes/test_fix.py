"""Documents put right: only what is named changes, and a second time nothing does."""

from __future__ import annotations

from hypothesis import given

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.documents import documents
from tests.workspace.validation.fixes.mending import fixers, mended
from workspace.config.config import WorkspaceConfig
from workspace.document.document import Document
from workspace.document.splices import Splice
from workspace.markdown.attribute_lists import AnchorForm
from workspace.validation.fixes.change import Fix
from workspace.validation.fixes.fix import apply_fixes, fix_document

ANCHORS = "missing-anchor"


@loop_over("case", read_cases("fix.md"))
def test_examples(case: Case) -> None:
    before = case.data("before")
    rules = case.json("rules") if "rules" in case.fences else [ANCHORS]
    after = mended(before, *rules)
    assert after.document.data == (case.data("after") if "after" in case.fences else before)
    assert mended(after.document.data, *rules).mends == ()


@given(documents)
def test_anchors_change_heading_lines_alone_and_keep_every_address(document: Document) -> None:
    done = fix_document(document, fixers({document.path: document.data}, ANCHORS))
    before, after = document.lines, done.document.lines
    headings = {
        line
        for item in document.sections
        if item.heading and not item.is_preamble
        for line in range(item.heading.block.line, item.heading.block.end)
    }
    differing = {line for line in range(len(before)) if before.line_bytes(line) != after.line_bytes(line)}
    assert len(before) == len(after)
    assert differing <= headings
    for was, now in zip(document.sections, done.document.sections, strict=True):
        assert (was.title, was.level, was.parent) == (now.title, now.level, now.parent)
        if was.key == was.address:
            assert now.address == was.address
    assert fix_document(done.document, fixers({document.path: done.document.data}, ANCHORS)).mends == ()


@given(documents)
def test_what_has_no_anchor_afterwards_is_told(document: Document) -> None:
    done = fix_document(document, fixers({document.path: document.data}, ANCHORS))
    told = {one.line for one in done.left}
    unnamed = {
        item.line
        for item in done.document.sections
        if item.heading and not item.is_preamble and item.anchor is None
    }
    assert unnamed <= told or not done.mends


@given(documents)
def test_all_mends_keep_words_titles_and_levels(document: Document) -> None:
    rules = ("trailing-space", "malformed-task", "invisible-character", ANCHORS)
    done = fix_document(document, fixers({document.path: document.data}, *rules))
    assert [(one.title, one.level, one.line) for one in done.document.sections] == [
        (one.title, one.level, one.line) for one in document.sections
    ]
    assert done.document.front_matter == document.front_matter
    assert fix_document(done.document, fixers({document.path: done.document.data}, *rules)).mends == ()


@loop_over("form", AnchorForm)
def test_a_document_without_anchors_gets_the_workspaces_form(form: AnchorForm) -> None:
    data = b"# Guide\n\n## Errors\n"
    there = fixers({"doc.md": data}, ANCHORS, settings=WorkspaceConfig(anchors=form))
    done = fix_document(Document.parse(data, "doc.md"), there)
    assert done.document.sections[1].anchor == "errors"
    assert done.document.form is form


def test_more_headings_than_a_rule_tells_of_at_once_are_all_named() -> None:
    data = b"".join(b"## Heading %d\n" % number for number in range(2_500))
    done = mended(data, ANCHORS)
    assert len(done.mends) == 2_500
    assert all(item.anchor for item in done.document.sections)


def test_an_address_that_is_too_long_for_an_anchor_is_told() -> None:
    done = mended(b"## " + b"a" * 1_001 + b"\n### Below\n", ANCHORS)
    assert done.document.data == b"## " + b"a" * 1_001 + b"\n### Below\n"
    assert [(one.line, one.rule) for one in done.left] == [(1, ANCHORS), (2, ANCHORS)]
    assert all("cannot be written" in one.reason and len(one.reason) < 300 for one in done.left)


def test_a_shared_address_is_told() -> None:
    done = mended(b"## A {#x}\n### Codes\n## B {#x}\n### Codes\n", ANCHORS)
    assert [(one.line, one.reason) for one in done.left] == [
        (4, "it shared 'x/codes' with another, and is 'x/codes-1' now")
    ]


def test_a_mend_that_would_make_a_heading_is_refused_and_told() -> None:
    document = Document.parse("text\n\n\ufeff## Errors\n".encode(), "doc.md")
    done = apply_fixes(document, [Fix("invisible-character", 3, Splice(6, 9, b""))])
    assert done.document is document
    assert [(one.line, one.rule) for one in done.left] == [(3, "invisible-character")]


def test_one_rule_that_does_harm_keeps_no_other_from_its_mends() -> None:
    document = Document.parse("- [] one\n\n\ufeff## Errors\n".encode(), "doc.md")
    harmful = Fix("invisible-character", 3, Splice(10, 13, b""))
    done = apply_fixes(document, [harmful, Fix("malformed-task", 1, Splice(2, 4, b"[ ]"))])
    assert done.document.data == "- [ ] one\n\n\ufeff## Errors\n".encode()


def test_a_rule_that_is_off_for_a_path_mends_nothing_there() -> None:
    settings = WorkspaceConfig.read(
        b'[validate.rules]\nmissing-anchor = "note"\n'
        b'[[validate.override]]\nmatch = "old"\nrules = { missing-anchor = "off" }\n'
    )
    files = {"old/doc.md": b"## A\n", "new/doc.md": b"## A\n"}
    there = fixers(files, settings=settings)
    assert fix_document(Document.parse(b"## A\n", "old/doc.md"), there).mends == ()
    assert fix_document(Document.parse(b"## A\n", "new/doc.md"), there).document.data == b"## A {#a}\n"
