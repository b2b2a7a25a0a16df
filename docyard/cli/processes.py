"""Documents are validated in several processes where that is quicker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.cli.docyard_processes import in_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.cli.docyard_processes import Progress
    from workspace.validation.finding import Finding
    from workspace.validation.run import Validator


def findings(
    validator: Validator, paths: Sequence[str], jobs: int | None = None, progress: Progress | None = None
) -> list[Finding]:
    """What is found in some documents, in order of paths and places.

    `jobs` is the number of processes; None lets the size decide. Raises UnreadableFile, DamagedRepository.
    """
    found = in_blocks(validator.check, paths, "Validating documents", jobs, progress)
    return sorted(found, key=lambda one: (one.path, one.line, one.column))
