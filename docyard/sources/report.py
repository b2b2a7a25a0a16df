"""The state of the sources, and the plan of a changed file, for people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from index.sources.source import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index.sources.source import Source
    from index.sources.sources import Sources, SourcesDifference

Data = dict[str, Any]


def describe_sources(sources: Sources, *, include_stats: bool = False) -> list[Data]:
    """Return the state of each source: `available`, and the reason if it is not.

    A source of a URL that could not be fetched lately has a `fetch_error`, also if it is available.
    """
    return [_describe_source(source, include_stats=include_stats) for source in sources]


def _describe_source(source: Source, *, include_stats: bool) -> Data:
    data: Data = {"name": source.name, "available": True}
    try:
        if include_stats:
            data |= source.stats()._asdict()
        else:
            source.check_available()
    except SourceUnavailable as error:
        data |= {"available": False, "reason": error.reason}
        if error.operator_fix:
            data["fix"] = error.operator_fix
    if data["available"] and (fetch_error := source.fetch_error) is not None:
        data["fetch_error"] = fetch_error
    return data


def format_sources(entries: list[Data]) -> Iterator[str]:
    """Yield one line for each source."""
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        if entry["available"]:
            commit, time = entry["source_commit"], entry["last_updated"]
            version = f"{commit[:12]}, {time}" if commit is not None else time or "no commit yet"
            state = f"{entry['document_count']:,} documents, {version}"
        else:
            state = f"unavailable: {entry['reason']}"
            if entry.get("fix"):
                state += f" ({entry['fix']})"
        if "fetch_error" in entry:
            state += f"; not fetched: {entry['fetch_error']}"
        yield f"{entry['name']:<{width}}  {state}"


def format_plan(plan: SourcesDifference) -> Iterator[str]:
    """Yield one line for each source that would be added, changed or removed."""
    for word, names in (("add", plan.added), ("change", plan.changed), ("remove", plan.removed)):
        for name in names:
            yield f"{word:<6}  {name}"
    yield f"{len(plan.unchanged)} unchanged"
