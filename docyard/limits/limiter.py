"""The limits of the settings, applied to calls of tools.

A call is charged before it runs: one call, and one search or one write for each of its questions or
operations. The tool decides whether a call searches or writes. If a call has searched more often than its
arguments showed, the difference becomes a debt of the next calls.

Several workers share their buckets in a file (`docyard.limits.shared_levels`), but each counts its own calls
in flight, which use its own threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.limits.buckets import Buckets, Charge
from docyard.limits.in_flight import CallsInFlight, Cap
from tools.arguments import OPERATIONS, InvalidArguments, read_operations
from tools.tool import Answer

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.mcp_server.calls import CallOutcome, ToolCall
    from docyard.settings.settings import LimitsSection
    from tools.tool import Tool

RATE_LIMITED = "RATE_LIMITED"
_IN_FLIGHT_RETRY_S = 1
_NAMESPACE_FIELDS = ("namespace", "docyard_namespace")
_ALL_NAMESPACES = "*"
_LOCAL_KEY = "local"  # of the client of a server over standard input and output


class LimitedServer(NamedTuple):
    """The server that a call is sent to: its organization, tools and namespaces.

    `find_tool` returns the tool of a name that a client sends. `list_namespaces` returns the namespaces that
    the caller may read; empty if the server has one repository.
    """

    organization: str
    find_tool: Callable[[str], Tool | None]
    list_namespaces: Callable[[], Collection[str]] = tuple


class _Limit(NamedTuple):
    """A limit of the settings: its name, its rate, and what it counts for whom, as text for people."""

    name: str
    rate: int
    scope: str
    kind: str


class Limiter:
    """The limits of one process, which all of its servers share. `buckets` may be those of all workers.

    Refuses a call with `RATE_LIMITED` and `retry_after`, the seconds after which it can be repeated.
    """

    def __init__(self, settings: LimitsSection, buckets: Buckets | None = None) -> None:
        self._limits = [
            _Limit(name, rate, scope, kind)
            for scope, prefix in (
                ("caller", ""),
                ("organization", "organization_"),
                ("namespace", "namespace_"),
            )
            for kind in ("calls", "searches", "writes")
            if (rate := getattr(settings, name := f"{prefix}{kind}_per_minute")) is not None
        ]
        self._calls_in_flight = settings.calls_in_flight
        self._organization_calls_in_flight = settings.organization_calls_in_flight
        self._buckets = Buckets() if buckets is None else buckets
        self._running = CallsInFlight()

    def refuse(self, call: ToolCall, server: LimitedServer) -> Answer | None:
        """Return the answer to a call that exceeds a limit; otherwise charge it, and return None.

        `finish` must be called after a call that was not refused.
        """
        caps = self._build_caps(call, server)
        position = self._running.start(caps)
        if position is not None:
            scope = caps[position].key[0]
            return _build_refusal(
                f"{caps[position].limit} calls of this {scope} are running already, which is the maximum",
                f"{scope}_calls_in_flight",
                _IN_FLIGHT_RETRY_S,
            )
        charges = list(self._build_charges(call, server))
        empty = self._buckets.charge([charge for charge, _ in charges])
        if empty is None:
            return None
        self._running.finish(caps)
        limit = charges[empty.position][1]
        return _build_refusal(
            f"the limit of {limit.kind} is reached ({limit.rate:,} per minute for each {limit.scope})",
            limit.name,
            empty.retry_after_s,
        )

    def finish(self, call: ToolCall, outcome: CallOutcome, server: LimitedServer) -> None:
        """Count a call as finished, and charge the searches that its arguments did not show."""
        self._running.finish(self._build_caps(call, server))
        if not any(limit.kind == "searches" for limit in self._limits):
            return
        expected = _count_work(call, server).searches
        if (extra := len(outcome.searches) - expected) > 0:
            self._buckets.add_debt(
                Charge(key, limit.rate, extra)
                for limit in self._limits
                if limit.kind == "searches" and limit.scope != "namespace"
                for key in [_build_key(limit, call, server)]
            )

    def _build_caps(self, call: ToolCall, server: LimitedServer) -> list[Cap]:
        caps = []
        if self._calls_in_flight is not None:
            caps.append(Cap(("caller", get_principal_key(call.caller)), self._calls_in_flight))
        if self._organization_calls_in_flight is not None:
            caps.append(Cap(("organization", server.organization), self._organization_calls_in_flight))
        return caps

    def _build_charges(self, call: ToolCall, server: LimitedServer) -> Iterator[tuple[Charge, _Limit]]:
        if not self._limits:
            return
        work = _count_work(call, server)
        costs = {"calls": 1, "searches": work.searches, "writes": work.writes}
        for limit in self._limits:
            cost = costs[limit.kind]
            if not cost:
                continue
            if limit.scope != "namespace":
                yield Charge(_build_key(limit, call, server), limit.rate, cost), limit
                continue
            for namespace, count in work.namespaces.items():
                key = (*_build_key(limit, call, server), namespace)
                yield Charge(key, limit.rate, 1 if limit.kind == "calls" else count), limit


def get_principal_key(caller: Caller | None) -> str:
    """Return the key of a caller for limits: the principal, else the owner of a token.

    Callers without either share one key, as does the client of standard input and output.
    """
    if caller is None:
        return _LOCAL_KEY
    if caller.principal is not None:
        return caller.principal.key
    return f"person:{caller.person.token}" if caller.person is not None else "server"


def _build_key(limit: _Limit, call: ToolCall, server: LimitedServer) -> tuple[str, ...]:
    owner = get_principal_key(call.caller) if limit.scope == "caller" else server.organization
    return (limit.name, owner)


class _Work(NamedTuple):
    """The work of a call: searches, writes, and the questions or operations in each namespace."""

    searches: int
    writes: int
    namespaces: Mapping[str, int]


def _count_work(call: ToolCall, server: LimitedServer) -> _Work:
    """Return the work that the arguments of a call show. An invalid batch is one operation."""
    tool = server.find_tool(call.name)
    arguments: Mapping[str, Any] = call.arguments if isinstance(call.arguments, Mapping) else {}
    items = _read_items(arguments)
    is_search, is_write = tool is not None and tool.searches, tool is not None and tool.writes
    return _Work(
        len(items) if is_search else 0,
        len(items) if is_write else 0,
        _count_namespaces(items, server.list_namespaces()),
    )


def _read_items(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the arguments of each question or operation. A question next to a batch is one more."""
    if (batch := arguments.get(OPERATIONS)) is None:
        return [arguments]
    try:
        operations = read_operations(batch)
    except InvalidArguments:
        return [arguments]
    items: list[Mapping[str, Any]] = [{**arguments, **operation} for operation in operations]
    return [*items, arguments] if arguments.get("query") else items


def _count_namespaces(items: list[Mapping[str, Any]], known: Collection[str]) -> Counter[str]:
    """Return the number of items in each known namespace. Unknown names are not counted."""
    counts: Counter[str] = Counter()
    for item in items:
        name = next((item[field] for field in _NAMESPACE_FIELDS if item.get(field) is not None), None)
        if not known:
            counts[""] += 1
        elif name == _ALL_NAMESPACES or (name is None and len(known) == 1):
            counts.update(known)
        elif isinstance(name, str) and name in known:
            counts[name] += 1
    return counts


def _build_refusal(message: str, limit: str, retry_after_s: int) -> Answer:
    seconds = "1 second" if retry_after_s == 1 else f"{retry_after_s:,} seconds"
    data = {
        "error": message,
        "code": RATE_LIMITED,
        "fix": f"Wait {seconds}, then send the call again.",
        "retry_after": retry_after_s,
        "limit": limit,
    }
    return Answer(data, is_error=True)
