"""A model of documents: a second and simpler implementation of each operation.

Only the classes of the operations are imported from Docyard. The body of a section is a list of paragraphs
(strings of one line) and tasks. The model ignores the number of blank lines between them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, ReopenTask
from workspace.edits.text import AppendContent, UpdateContent

PREAMBLE = "_preamble"
_HEADING = re.compile(r"(#{1,6}) (.*?)(?: \{#([^}]+)\})?")
_TASK = re.compile(r"- \[([ x])\] (.*)")
_FIELD = re.compile(r"  - (\w+): (.*)")
_TASK_ADDRESS = re.compile(r"(.+)\[(\d+)\]")


class Refusal(Exception):
    """The operation is refused and must have no effect."""


@dataclass(slots=True)
class Task:
    """A checkbox. The model records that a completion date exists, but not the date."""

    title: str
    is_done: bool = False
    fields: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    """A heading and its own text; the preamble has level 0."""

    level: int
    title: str
    address: str
    body: list[str | Task] = field(default_factory=list)

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks, in order."""
        return [item for item in self.body if isinstance(item, Task)]


@dataclass(slots=True)
class ModelDocument:
    """A document: its type and tags, and its sections in order; the first is the preamble."""

    sections: list[Section]
    type: str | None = None
    tags: list[str] = field(default_factory=list)

    def find_section(self, address_or_slug: str) -> Section:
        """Return the section with an address, else the only one whose title has this slug. Raises Refusal."""
        for section in self.sections:
            if section.address == address_or_slug:
                return section
        candidates = [
            section
            for section in self.sections
            if section.level and make_slug(section.title) == address_or_slug
        ]
        if len(candidates) != 1:
            raise Refusal(f"no section {address_or_slug}")
        return candidates[0]

    def find_end(self, section: Section) -> int:
        """Return the position after a section and all its subsections."""
        position = self.sections.index(section) + 1
        while position < len(self.sections) and self.sections[position].level > section.level:
            position += 1
        return position


ModelDocuments = dict[str, ModelDocument]


def make_slug(title: str) -> str:
    """Return the slug of a title, which has only letters, digits, spaces and hyphens."""
    return title.lower().replace(" ", "-")


def parse_document(text: str) -> ModelDocument:
    """Parse a document line by line."""
    document = ModelDocument([Section(0, "", PREAMBLE)])
    lines = text.split("\n")
    if lines[0] == "---":
        end = lines.index("---", 1)
        for line in lines[1:end]:
            key, _, value = line.partition(": ")
            if key == "type":
                document.type = value
            elif key == "tags":
                document.tags = [tag.strip().strip("\"'") for tag in value.strip("[]").split(",")]
        del lines[: end + 1]
    for line in filter(None, lines):
        section = document.sections[-1]
        if (match := _HEADING.fullmatch(line)) is not None:
            if len(match[1]) == 1:
                section.title = match[2]
            else:
                document.sections.append(Section(len(match[1]), match[2], match[3] or make_slug(match[2])))
        elif (match := _TASK.fullmatch(line)) is not None:
            section.body.append(Task(match[2], match[1] == "x"))
        elif (match := _FIELD.fullmatch(line)) is not None:
            task = section.body[-1]
            assert isinstance(task, Task), line
            task.fields.append((match[1], "*" if match[1] == "Completed" else match[2]))
        else:
            section.body.append(line)
    return document


@dataclass(frozen=True, slots=True)
class Outcome:
    """The expected result of a batch: the documents after it, and True for each operation that succeeded."""

    documents: ModelDocuments
    successes: tuple[bool, ...]


def apply_batch(documents: ModelDocuments, operations: Sequence[Operation], *, all_or_none: bool) -> Outcome:
    """Return the outcome of a batch whose caller has read `documents`, without changing `documents`."""
    result_documents = copy.deepcopy(documents)
    successes = []
    for operation in operations:
        trial_documents = copy.deepcopy(result_documents)
        try:
            _Batch(documents, trial_documents).apply(operation)
        except Refusal:
            successes.append(False)
            if all_or_none:
                return Outcome(copy.deepcopy(documents), (False,) * len(operations))
        else:
            successes.append(True)
            result_documents = trial_documents
    return Outcome(result_documents, tuple(successes))


@dataclass(slots=True)
class _Batch:
    """The documents before a batch (`base`) and during the batch. Addresses are first resolved in `base`."""

    base: Mapping[str, ModelDocument]
    documents: ModelDocuments

    def apply(self, operation: Operation) -> None:
        match operation:
            case CreateDocument(title=title, folder=folder, content=content):
                self._create(f"{folder}/{make_slug(title)}.md".removeprefix("/"), title, content)
            case RemoveDocument(path=path):
                self._find_document(path)
                del self.documents[path]
            case AddSection(file=file, title=title, parent_slug=parent, content=content):
                self._add_section(file, title, parent, content or "")
            case RemoveSection(file=file, slug=address_or_slug):
                document, section = self._find_section(file, address_or_slug)
                if section.level == 0:
                    raise Refusal("the preamble cannot be removed")
                del document.sections[document.sections.index(section) : document.find_end(section)]
            case RenameSection(file=file, slug=address_or_slug, new_title=title):
                _, section = self._find_section(file, address_or_slug)
                section.title = title
            case AppendContent(file=file, slug=address_or_slug, content=content):
                _, section = self._find_section(file, address_or_slug)
                section.body.append(content)
            case UpdateContent(
                file=file, slug=address_or_slug, content=content, include_subsections=include_subsections
            ):
                document, section = self._find_section(file, address_or_slug)
                section.body = [content] if content else []
                # The preamble has the lowest level, but it has no subsections.
                if include_subsections and section.level:
                    del document.sections[document.sections.index(section) + 1 : document.find_end(section)]
            case AddTask(file=file, slug=address_or_slug, title=title):
                _, section = self._find_section(file, address_or_slug)
                tasks = [position for position, item in enumerate(section.body) if isinstance(item, Task)]
                section.body.insert(tasks[-1] + 1 if tasks else len(section.body), Task(title))
            case CompleteTask(file=file, slug=address_or_slug, note=note):
                task = self._find_task(file, address_or_slug)
                if not task.is_done:
                    task.is_done = True
                    task.fields.append(("Completed", "*"))
                if note and ("Note", note) not in task.fields:
                    task.fields.append(("Note", note))
            case ReopenTask(file=file, slug=address_or_slug):
                task = self._find_task(file, address_or_slug)
                task.is_done = False
                task.fields = [entry for entry in task.fields if entry[0] != "Completed"]
            case TagDocument(file=file, tags=tags, remove=remove, replace=replace):
                document = self._find_document(file)
                if replace:
                    document.tags = [*tags]
                elif remove:
                    document.tags = [tag for tag in document.tags if tag not in tags]
                else:
                    document.tags += [tag for tag in tags if tag not in document.tags]
            case _:
                raise AssertionError(f"the model has no operation {operation.name}")

    def _create(self, path: str, title: str, content: str) -> None:
        if path in self.documents:
            raise Refusal("the path exists")
        self.documents[path] = ModelDocument(
            [Section(0, title, PREAMBLE, [content] if content else [])], "document"
        )

    def _add_section(self, file: str, title: str, parent_slug: str | None, content: str) -> None:
        document = self._find_document(file)
        parent = self._find_section(file, parent_slug)[1] if parent_slug else None
        level = parent.level + 1 if parent else 2
        start = document.sections.index(parent) + 1 if parent else 1
        section_end = document.find_end(parent) if parent else len(document.sections)
        for section in document.sections[start:section_end]:
            if section.level == level and section.title == title:
                if section.body or document.find_end(section) > document.sections.index(section) + 1:
                    raise Refusal("a section with this title exists and is not empty")
                section.body = [content] if content else []
                return
        first_address = f"{parent.address}/{make_slug(title)}" if parent else make_slug(title)
        addresses = {section.address for section in document.sections}
        address, number = first_address, 1
        while address in addresses:
            address, number = f"{first_address}-{number}", number + 1
        document.sections.insert(section_end, Section(level, title, address, [content] if content else []))

    def _find_document(self, file: str) -> ModelDocument:
        if file not in self.documents:
            raise Refusal(f"no document {file}")
        return self.documents[file]

    def _find_section(self, file: str, address_or_slug: str) -> tuple[ModelDocument, Section]:
        document = self._find_document(file)
        if file in self.base:
            try:
                base_section = self.base[file].find_section(address_or_slug)
            except Refusal:
                return document, document.find_section(address_or_slug)
            for section in document.sections:
                if section.address == base_section.address:
                    return document, section
            raise Refusal(f"the section {address_or_slug} is missing")
        return document, document.find_section(address_or_slug)

    def _find_task(self, file: str, address_or_slug: str) -> Task:
        match = _TASK_ADDRESS.fullmatch(address_or_slug)
        assert match is not None
        _, section = self._find_section(file, match[1])
        index = int(match[2])
        if file in self.base:
            try:
                base_tasks = self.base[file].find_section(match[1]).tasks
            except Refusal:
                base_tasks = []
            if index < len(base_tasks):
                candidates = [task for task in section.tasks if task.title == base_tasks[index].title]
                if len(candidates) != 1:
                    raise Refusal(f"the task {address_or_slug} is missing")
                return candidates[0]
        if index >= len(section.tasks):
            raise Refusal(f"no task {address_or_slug}")
        return section.tasks[index]
