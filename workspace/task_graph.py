"""The open tasks of a commit, and what each of them waits for.

A task waits for the tasks that its field `Depends on` names, and for its own sub-tasks. A dependency is the
address `path#id`, or `#id` for a task of the same document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from workspace.document.addresses import format_task_address
from workspace.lru_cache import LRUCache
from workspace.snapshot.derived_values import DerivedValues

if TYPE_CHECKING:
    from datetime import datetime

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Claim, Task
    from workspace.snapshot.derived_values import Progress
    from workspace.snapshot.snapshot import Snapshot

T = TypeVar("T")

_CHECKBOX = re.compile(rb"\[[ xX]\]")
_DEPENDENCY = re.compile(rb"depends[ \t]+on", re.IGNORECASE)
_MAX_CACHED_GRAPHS = 8
_MAX_SEARCHED_TASKS = 100_000


class TaskState(StrEnum):
    """The state of a task.

    A task is `WAITING` for other tasks, `BLOCKED` for the reason in its field, and `CLAIMED` by somebody who
    does it now.
    """

    DONE = "done"
    READY = "ready"
    CLAIMED = "claimed"
    WAITING = "waiting"
    BLOCKED = "blocked"


class TaskEntry(NamedTuple):
    """A task of a commit. `address` is `path#section[index]`, and `parent` that of the task above it.

    `dependencies` are references `path#id`, whether such a task exists or not.
    """

    path: str
    address: str
    id: str | None
    parent: str | None
    title: str
    line: int
    is_done: bool
    owner: str | None
    blocked: str | None
    claim: Claim | None
    dependencies: tuple[str, ...]
    document_type: str | None

    @property
    def slug(self) -> str:
        """The address in the document: `section[index]`."""
        return self.address.removeprefix(f"{self.path}#")

    @property
    def reference(self) -> str | None:
        """The address that does not change with the task's position: `path#id`; None without an id."""
        return None if self.id is None else f"{self.path}#{self.id}"

    def list_owners(self, time: datetime) -> list[str]:
        """Return the names of the assignee, and of a claim that is valid at a time."""
        names = [self.owner] if self.owner else []
        if self.claim is not None and self.claim.is_valid_at(time):
            names.append(self.claim.name)
        return names

    def is_owned_by(self, name: str, time: datetime) -> bool:
        """Return True if a name, in any case, is the assignee, or in a claim that is valid at a time."""
        return name.casefold() in [owner.casefold() for owner in self.list_owners(time)]


class TaskGraph:
    """The tasks of a commit in the order of their documents, and their dependencies.

    `unreadable_paths` are the documents whose tasks could not be read.
    """

    def __init__(self, tasks: Sequence[TaskEntry], unreadable_paths: Sequence[str] = ()) -> None:
        self.tasks = tasks
        self.unreadable_paths = tuple(unreadable_paths)
        self._positions = {task.address: position for position, task in enumerate(tasks)}
        # The first of several tasks with one id counts; a rule of `docyard validate` reports the others.
        self._by_reference: dict[str, int] = {}
        for position, task in enumerate(tasks):
            if task.reference is not None:
                self._by_reference.setdefault(task.reference, position)

    @cached_property
    def requirements(self) -> Sequence[Sequence[int]]:
        """The positions of the tasks that each task waits for or waited for, in the order of `tasks`."""
        requirements: list[list[int]] = [
            [self._by_reference[name] for name in task.dependencies if name in self._by_reference]
            for task in self.tasks
        ]
        for position, task in enumerate(self.tasks):
            if task.parent is not None:
                requirements[self._positions[task.parent]].append(position)
        return requirements

    def with_claims(self, find_claim: Callable[[str, str, Claim | None], Claim | None]) -> TaskGraph:
        """Return the graph with other claims: `find_claim` gets the path, the id and the field of a task."""
        tasks = [
            task._replace(claim=find_claim(task.path, task.id, task.claim)) if task.id else task
            for task in self.tasks
        ]
        graph = TaskGraph(tasks, self.unreadable_paths)
        # Claims change neither the dependencies nor what waits for them.
        graph.__dict__.update(
            requirements=self.requirements, _states=self._states, _waiting_counts=self._waiting_counts
        )
        return graph

    def find(self, reference: str) -> TaskEntry | None:
        """Return the task with the reference `path#id`, or None."""
        position = self._by_reference.get(reference)
        return None if position is None else self.tasks[position]

    def list_open_requirements(self, task: TaskEntry) -> tuple[TaskEntry, ...]:
        """Return the open tasks that a task waits for."""
        required = (self.tasks[position] for position in self.requirements[self._positions[task.address]])
        return tuple(requirement for requirement in required if not requirement.is_done)

    def list_missing_dependencies(self, task: TaskEntry) -> tuple[str, ...]:
        """Return the dependencies of a task that name no task."""
        return tuple(name for name in task.dependencies if name not in self._by_reference)

    def get_state(self, task: TaskEntry, time: datetime) -> TaskState:
        """Return the state of a task at a time. A dependency that names no task is not done."""
        state = self._states[self._positions[task.address]]
        if state is TaskState.READY and task.claim is not None and task.claim.is_valid_at(time):
            return TaskState.CLAIMED
        return state

    @cached_property
    def _states(self) -> Sequence[TaskState]:
        """The states of the tasks without their claims, in the order of `tasks`."""
        return [
            TaskState.DONE
            if task.is_done
            else TaskState.BLOCKED
            if task.blocked
            else TaskState.WAITING
            if not all(self.tasks[position].is_done for position in requirements)
            or not self._by_reference.keys() >= set(task.dependencies)
            else TaskState.READY
            for task, requirements in zip(self.tasks, self.requirements, strict=True)
        ]

    def count_waiting(self, task: TaskEntry) -> int:
        """Return the number of open tasks that wait for a task, directly or for another one that waits."""
        return self._waiting_counts[self._positions[task.address]]

    @cached_property
    def _waiting_counts(self) -> Sequence[int]:
        group_of = {position: number for number, group in enumerate(self._groups) for position in group}
        # One bit for each task, so that a task counts once, however many paths lead to it.
        waiting = [0] * len(self._groups)
        counts = [0] * len(self.tasks)
        for number in range(len(self._groups) - 1, -1, -1):
            group = self._groups[number]
            open_bits = sum(1 << position for position in group if not self.tasks[position].is_done)
            for position in group:
                counts[position] = ((waiting[number] | open_bits) & ~(1 << position)).bit_count()
                for requirement in self.requirements[position]:
                    if group_of[requirement] != number:
                        waiting[group_of[requirement]] |= waiting[number] | open_bits
        return counts

    @cached_property
    def circles(self) -> Sequence[Sequence[TaskEntry]]:
        """The circles of dependencies: each task waits for the next one, and the last for the first."""
        return [
            [self.tasks[position] for position in self._find_circle(group)]
            for group in self._groups
            if len(group) > 1 or group[0] in self.requirements[group[0]]
        ]

    def _find_circle(self, group: Sequence[int]) -> list[int]:
        """Return the positions of a shortest circle through the first task of a strongly connected group."""
        members = set(group)

        def list_members(position: int) -> Iterator[int]:
            return (requirement for requirement in self.requirements[position] if requirement in members)

        circle = _find_shortest_circle(min(group), list_members, int)
        assert circle is not None, "the group is not strongly connected"
        return circle[:-1]

    @cached_property
    def _groups(self) -> Sequence[Sequence[int]]:
        """The strongly connected groups of tasks: each comes after the groups that its tasks require.

        Tarjan's algorithm (1972), without recursion.
        """
        order: dict[int, int] = {}
        lowest: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        groups: list[list[int]] = []

        def visit(position: int) -> Iterator[int]:
            order[position] = lowest[position] = len(order)
            stack.append(position)
            on_stack.add(position)
            return iter(self.requirements[position])

        for root in range(len(self.tasks)):
            if root in order:
                continue
            path = [(root, visit(root))]
            while path:
                position, remaining = path[-1]
                for requirement in remaining:
                    if requirement not in order:
                        path.append((requirement, visit(requirement)))
                        break
                    if requirement in on_stack:
                        lowest[position] = min(lowest[position], order[requirement])
                else:
                    path.pop()
                    if path:
                        lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[position])
                    if lowest[position] == order[position]:
                        group: list[int] = []
                        while not group or group[-1] != position:
                            group.append(stack.pop())
                        on_stack.difference_update(group)
                        groups.append(group)
        return groups


class TaskGraphs:
    """The task graphs of commits. The tasks of unchanged documents are not read again. Thread-safe."""

    def __init__(self) -> None:
        self._tasks = DerivedValues[tuple[TaskEntry, ...]](read_tasks, may_have_tasks, (), "Reading tasks")
        self._graphs: LRUCache[str, TaskGraph] = LRUCache(_MAX_CACHED_GRAPHS)

    def get(self, snapshot: Snapshot, progress: Progress | None = None) -> TaskGraph:
        """Return the task graph of a snapshot."""
        if snapshot.tree is None:
            return TaskGraph(())
        return self._graphs.get(snapshot.tree, self._build, snapshot, progress)

    def _build(self, snapshot: Snapshot, progress: Progress | None) -> TaskGraph:
        documents = self._tasks.read(snapshot, progress)
        return TaskGraph([*chain.from_iterable(documents.values.values())], documents.unreadable_paths)


def may_have_tasks(data: bytes) -> bool:
    """Return True if a document contains a checkbox, so that it must be parsed."""
    return _CHECKBOX.search(data) is not None


def may_have_dependencies(data: bytes) -> bool:
    """Return True if a document contains the name of the field of dependencies, so that it must be parsed."""
    return _DEPENDENCY.search(data) is not None


def read_tasks(document: Document) -> tuple[TaskEntry, ...]:
    """Return the tasks of a document."""
    tasks: list[TaskEntry] = []
    path = document.path
    for section in document.sections:
        addresses: dict[str, str] = {}
        for task in document.tasks(section):
            address = f"{path}#{format_task_address(section.key, task)}"
            addresses[task.index] = address
            tasks.append(
                TaskEntry(
                    path=path,
                    address=address,
                    id=task.id,
                    parent=addresses.get(task.index.rpartition(".")[0]),
                    title=task.title,
                    line=task.line,
                    is_done=task.is_done,
                    owner=task.field("assignee"),
                    blocked=task.field("blocked"),
                    claim=task.claim,
                    dependencies=list_references(path, task.dependencies),
                    document_type=document.type,
                )
            )
    return tuple(tasks)


def select_tasks(
    graph: TaskGraph,
    time: datetime,
    *,
    paths: Container[str] | None = None,
    document_type: str | None = None,
    owner: str | None = None,
    ready: bool | None = None,
    blocked: bool | None = None,
) -> list[TaskEntry]:
    """Return the open tasks that match at a time, in the order of the number of tasks that wait for them.

    `paths` are the documents; None for all. `ready` and `blocked` select by the state: a task that waits for
    another one counts as blocked, and one that is claimed as neither. `owner` is the assignee, or the name in
    a valid claim.
    """

    def matches(task: TaskEntry) -> bool:
        state = graph.get_state(task, time)
        return (
            not task.is_done
            and (paths is None or task.path in paths)
            and (document_type is None or task.document_type == document_type)
            and (owner is None or task.is_owned_by(owner, time))
            and ready in (None, state is TaskState.READY)
            and blocked in (None, state in (TaskState.BLOCKED, TaskState.WAITING))
        )

    return sorted(filter(matches, graph.tasks), key=graph.count_waiting, reverse=True)


class TaskLocation(NamedTuple):
    """A task of a document."""

    path: str
    section: Section
    task: Task

    @property
    def address(self) -> str:
        """The address of the task in its document."""
        return format_task_address(self.section.key, self.task)

    @property
    def key(self) -> tuple[str, str]:
        """The path and the address, which no other task has."""
        return self.path, self.address

    @property
    def reference(self) -> str:
        """`path#id`; for a task without an id, `path#section[index]`."""
        return f"{self.path}#{self.task.id or self.address}"


FindDocument = Callable[[str], "Document | None"]


def find_circle(
    find_document: FindDocument,
    start: TaskLocation,
    references: Sequence[str],
    max_tasks: int = _MAX_SEARCHED_TASKS,
) -> list[TaskLocation] | None:
    """Return a shortest circle by which a task waits for itself through some references; None without one.

    `references` are `path#id`. The result begins and ends with the task. At most `max_tasks` are searched.
    """

    def list_next(location: TaskLocation) -> Iterator[TaskLocation]:
        if location is start:
            return _locate(find_document, references)
        return list_requirements(find_document, location)

    return _find_shortest_circle(start, list_next, attrgetter("key"), max_tasks)


def _find_shortest_circle(
    start: T,
    list_next: Callable[[T], Iterable[T]],
    get_key: Callable[[T], Hashable],
    limit: int | None = None,
) -> list[T] | None:
    """Return a shortest circle through an item of a graph, with the item at both ends; None without one.

    Items with one key are the same. The search ends at `limit` items.
    """
    predecessors: dict[Hashable, T] = {}
    items = [start]
    for item in items:
        for following in list_next(item):
            key = get_key(following)
            if key == get_key(start):
                circle = [start, item]
                while circle[-1] is not start:
                    circle.append(predecessors[get_key(circle[-1])])
                return circle[::-1]
            if key not in predecessors:
                predecessors[key] = item
                items.append(following)
        if limit is not None and len(predecessors) > limit:
            break
    return None


def format_circle(circle: Sequence[TaskLocation]) -> str:
    """Return a circle as one line."""
    return " waits for ".join(location.reference for location in circle)


def list_references(path: str, dependencies: Iterable[str]) -> tuple[str, ...]:
    """Return dependencies of a task of a document as `path#id`."""
    return tuple(f"{path}{name}" if name.startswith("#") else name for name in dependencies)


def find_task(find_document: FindDocument, reference: str) -> TaskLocation | None:
    """Return the task with the reference `path#id`; None without one."""
    path, _, id = reference.rpartition("#")
    document = find_document(path) if path else None
    found = document.find_task(id) if document is not None else None
    return TaskLocation(path, *found) if found is not None else None


def list_missing(find_document: FindDocument, location: TaskLocation) -> list[str]:
    """Return the dependencies of a task that name no task, as `path#id`."""
    references = list_references(location.path, location.task.dependencies)
    return [reference for reference in references if find_task(find_document, reference) is None]


def list_open_dependencies(find_document: FindDocument, location: TaskLocation) -> list[str]:
    """Return the dependencies of a task that are not done or name no task, as `path#id`."""
    references = list_references(location.path, location.task.dependencies)
    found = {reference: find_task(find_document, reference) for reference in references}
    return [reference for reference, item in found.items() if item is None or not item.task.is_done]


def _locate(find_document: FindDocument, references: Sequence[str]) -> Iterator[TaskLocation]:
    locations = (find_task(find_document, reference) for reference in references)
    return (location for location in locations if location is not None)


def list_requirements(find_document: FindDocument, location: TaskLocation) -> Iterator[TaskLocation]:
    """Yield the tasks that a task waits for: its dependencies that exist, and its direct sub-tasks."""
    path, section, task = location
    yield from _locate(find_document, list_references(path, task.dependencies))
    document = find_document(path)
    for item in document.tasks(section) if document is not None else ():
        if item.index.rpartition(".")[0] == task.index:
            yield TaskLocation(path, section, item)
