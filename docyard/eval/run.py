"""A run: what came of asking every case, as a value that is kept in a file and compared with later ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from workspace.errors import WorkspaceError

LEVELS = ("page", "chunk")
"""What lists are of: documents, in the order of their best sections; sections, where a case names any."""


class InvalidRun(WorkspaceError):
    """A file that should hold a run and does not; `details` has the `field` that is wrong."""

    code: ClassVar[str] = "INVALID_RUN"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Scored(_Model):
    """The measures of one list by their names, and the rank of each expected address, None if not found."""

    measures: Mapping[str, float]
    ranks: Mapping[str, int | None]


class Outcome(_Model):
    """What came of one case. `ms` is the time on the clock of one search for ten hits, in milliseconds.

    `digest` changes with what is asked or expected. `found` has the first ten chunk ids, `hits` counts the
    list that was judged. A case that the search would not take has no `ms`, and found nothing.
    """

    id: str
    query: str
    category: str
    digest: str
    ms: float | None
    hits: int
    found: tuple[str, ...]
    page: Scored
    chunk: Scored | None

    def level(self, level: str) -> Scored | None:
        """The measures of the list of pages, or of chunks."""
        return self.page if level == "page" else self.chunk


class Parameters(_Model):
    """How it was asked: `top` is the length of the lists of chunks, `limit` the number of cases at most."""

    top: int
    limit: int | None


class Run(_Model):
    """A whole run. `name` has the names of the case files, `at` the UTC time in ISO 8601 to the second.

    `metadata` is the index's metadata.json; `version` is Docyard's own; `problems` tells what the commit does
    not have of what was expected, and which cases could not be asked.
    """

    format: Literal[1] = 1
    name: str
    at: str
    commit: str | None
    version: str
    parameters: Parameters
    metadata: Mapping[str, Any] | None
    problems: tuple[str, ...]
    cases: tuple[Outcome, ...]


def read_run(file: Path) -> Run:
    """Read a run from its file. Raises InvalidRun, and OSError where there is none."""
    try:
        return Run.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidRun(
            f"{file.name} is not a run of docyard eval, at {field or 'its text'}: {first['msg'].lower()}",
            fix="Name a file that --runs kept, or move this one out of the folder.",
            field=field,
        ) from None


def read_runs(folder: Path, name: str, parameters: Parameters) -> list[Run]:
    """Read the runs that a folder keeps of these case files, asked in this way, oldest first.

    Raises InvalidRun, OSError.
    """
    runs = [read_run(file) for file in sorted(folder.glob("*.json"))]
    alike = [run for run in runs if run.name == name and run.parameters == parameters]
    # The sort is stable: of two runs in one second the file's name decides.
    return sorted(alike, key=lambda run: run.at)


def keep_run(folder: Path, run: Run) -> Path:
    """Write a run into a folder, in a new file whose name sorts by time. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{run.at.replace(':', '').replace('-', '')}-{(run.commit or 'empty')[:12]}"
    for number in count(1):
        file = folder / f"{stem}-{number:02}.json"
        with suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
            stream.write(run.model_dump_json(indent=1) + "\n")
            break
    return file
