"""Large and adversarial documents are compared in linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.loops import loop_over
from tests.workspace.adversarial_documents import ADVERSARIAL_BUILDERS
from tests.workspace.diff.test_kinds import MAX_NOTE_LENGTH
from tests.workspace.document.test_document_growth import find_excessive_growth
from workspace.diff.formats import format_data, format_lines, format_markdown
from workspace.diff.trees import compare_document
from workspace.document.document import Document
from workspace.errors import WorkspaceError


@pytest.mark.growth
@pytest.mark.parametrize("build_document", ADVERSARIAL_BUILDERS.values(), ids=ADVERSARIAL_BUILDERS)
def test_comparison_time_is_linear_in_size(build_document: Callable[[int], bytes]) -> None:
    def measure(size: int) -> float:
        with suppress(WorkspaceError):
            old_document = Document.parse(build_document(size))
            new_document = Document.parse(build_document(size + size // 10).replace(b"a", b"c", size // 3))
            start = time.process_time()
            change = compare_document(old_document, new_document)
            if change is not None:
                format_markdown([change])
                format_lines([change])
                format_data([change])
            return time.process_time() - start
        return 0.0

    assert find_excessive_growth(measure, 2000) is None


@loop_over("build_document", ADVERSARIAL_BUILDERS.values(), ids=ADVERSARIAL_BUILDERS)
def test_adversarial_changes_are_described_within_the_limit(build_document: Callable[[int], bytes]) -> None:
    max_characters = 500
    with suppress(WorkspaceError):
        old_document, new_document = (
            Document.parse(build_document(60)),
            Document.parse(build_document(70).replace(b"a", b"c", 20)),
        )
        change = compare_document(old_document, new_document)
        if change is not None:
            assert len(format_markdown([change], max_characters)) <= max_characters + MAX_NOTE_LENGTH
            assert format_lines([change], max_characters)
            assert format_data([change], max_characters)
