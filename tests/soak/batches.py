"""The initial documents of the state machine, and strategies for batches and uncommitted changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hypothesis import strategies as st

from templates import builtin_types
from tests.soak.model import ModelDocument, ModelDocuments
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, ReopenTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.writing.plan import BatchMode

FILES = {
    "page-one.md": "# Page one\n\nOne.\n\n## Alpha\n\n- [ ] First\n- [x] Second\n\n## Beta {#beta}\n\nText.\n"
    "\n### Red {#beta/red}\n\nRed text.\n",
    "page-two.md": "# Page two\n\n## Alpha {#alpha}\n\nText\n\n* * *\n\n## Gamma\n",
    "notes.txt": "not a document\n",
}
TITLES = {"page-one.md": "Page one", "page-two.md": "Page two", "deep/page-three.md": "Page three"}

paths = st.sampled_from([*TITLES])
addresses = st.sampled_from(
    ["alpha"] * 4 + ["beta"] * 3 + ["gamma", "_preamble", "beta/red", "alpha/blue", "alpha-1"]
)
titles = st.sampled_from(["Alpha", "Beta", "Gamma"])
subsection_titles = st.sampled_from(["Red", "Blue"])
sample_texts = st.integers(0, 99).map(lambda number: f"Text {number}.")
tags = st.lists(st.sampled_from(["red", "green", "blue"]), min_size=1, unique=True).map(tuple)
tasks = st.builds(
    lambda section, index: f"{section}[{index}]", st.sampled_from(["alpha", "beta"]), st.integers(0, 3)
)


def _create(path: str, content: str) -> CreateDocument:
    return CreateDocument(
        type=builtin_types()["document"],
        title=TITLES[path],
        content=content,
        folder=path.rpartition("/")[0],
    )


additions: st.SearchStrategy[Operation] = st.one_of(
    st.builds(AddTask, file=paths, slug=addresses, title=st.just("Task")),
    st.builds(AppendContent, file=paths, slug=addresses, content=sample_texts),
    st.builds(AddSection, file=paths, title=titles, content=st.one_of(st.just(""), sample_texts)),
    st.builds(
        AddSection,
        file=paths,
        title=subsection_titles,
        parent_slug=st.sampled_from(["alpha", "beta"]),
        content=st.one_of(st.just(""), sample_texts),
    ),
    st.builds(_create, paths, st.one_of(st.just(""), sample_texts)),
)
changes: st.SearchStrategy[Operation] = st.one_of(
    st.builds(
        UpdateContent,
        file=paths,
        slug=addresses,
        content=st.one_of(st.just(""), sample_texts),
        include_subsections=st.booleans(),
    ),
    st.builds(CompleteTask, file=paths, slug=tasks, note=st.one_of(st.none(), sample_texts)),
    st.builds(ReopenTask, file=paths, slug=tasks),
    st.builds(RenameSection, file=paths, slug=addresses, new_title=st.just("Renamed")),
    st.builds(
        TagDocument,
        file=paths,
        tags=tags,
        remove=st.booleans(),
        replace=st.just(False),
    ),
    st.builds(TagDocument, file=paths, tags=tags, replace=st.just(True)),
)
removals: st.SearchStrategy[Operation] = st.one_of(
    st.builds(RemoveSection, file=paths, slug=addresses),
    st.builds(RemoveDocument, path=paths),
)
batches = st.lists(st.one_of(additions, additions, changes, changes, removals), min_size=1, max_size=5)
# An uncommitted change of a user: the file, True if it is staged, and the kind of the change.
UserEdit = tuple[str, bool, str]
user_edits = st.tuples(paths, st.booleans(), st.sampled_from(["append", "section", "delete"]))
modes = st.sampled_from([BatchMode.EACH, BatchMode.EACH, BatchMode.ALL])


def retarget_operations(
    operations: Sequence[Operation], documents: ModelDocuments, count: int
) -> list[Operation]:
    """Return copies of operations: most have existing targets, and titles are numbered from `count` + 1."""
    retargeted_operations = []
    for number, operation in enumerate(operations, count + 1):
        new_fields: dict[str, str] = {}
        file = getattr(operation, "file", None)
        if file is not None and documents and number % 5:
            if file not in documents:
                file = new_fields["file"] = sorted(documents)[number % len(documents)]
            targets = _list_addresses(documents[file], operation)
            if targets and getattr(operation, "slug", targets[0]) not in targets:
                new_fields["slug"] = targets[number % len(targets)]
        if isinstance(operation, AddTask):
            new_fields["title"] = f"Task {number}"
        elif isinstance(operation, RenameSection):
            new_fields["new_title"] = f"Renamed {number}"
        retargeted_operations.append(dataclasses.replace(operation, **new_fields))  # type: ignore[type-var]
    return retargeted_operations


def _list_addresses(document: ModelDocument, operation: Operation) -> list[str]:
    """Return the addresses in a document that an operation can target: tasks or sections."""
    if isinstance(operation, CompleteTask | ReopenTask):
        return [
            f"{section.address}[{index}]"
            for section in document.sections
            for index in range(len(section.tasks))
        ]
    return [section.address for section in document.sections]
