"""Atom feeds (RFC 4287): of the activity of proposals, and of the commits of the served branch.

A feed has the newest entries, and an entity tag, so that a reader that asks again gets 304 until something
changes (RFC 9110 §13.1.2). Texts of people are plain text in a feed, never markup.

The id of a feed depends on the public URL of the server; the ids of entries do not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from starlette.responses import Response
from starlette.routing import Route

from docyard import __version__
from docyard.proposals.activity import build_permanent_id, list_recent_activities
from docyard.web.endpoints import build_request_endpoint
from docyard.web.urls import CHANGES_FEED, PROPOSALS_FEED
from docyard.wording import format_commit_author, shorten, shorten_id
from workspace.git.ancestry import walk_first_parents
from workspace.git.repository import DamagedRepository
from workspace.history.commits import describe_commit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from docyard.proposals.activity import Activity
    from docyard.web.page_request import PageRequest
    from docyard.web.site import Site
    from workspace.git.objects import Commit

MAX_ENTRIES = 50
"""The number of entries of a feed."""

MEDIA_TYPE = "application/atom+xml"
_ATOM = "http://www.w3.org/2005/Atom"
_MAX_SUMMARY_CHARACTERS = 2_000
_FORMAT_VERSION = "1"  # part of the entity tags: changes with what feeds contain
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
# XML 1.0 §2.2 has no code for these characters.
_INVALID_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class FeedEntry(NamedTuple):
    """An entry of a feed: its permanent id (an IRI), title, time, author, the path of its page, and text."""

    id: str
    title: str
    time: datetime
    author: str
    path: str
    text: str = ""
    category: str = ""


def build_feed_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of the feeds."""
    return [
        Route(PROPOSALS_FEED, _build_endpoint(site, _render_proposals)),
        Route(CHANGES_FEED, _build_endpoint(site, _render_changes)),
    ]


def _build_endpoint(site: Site, render: Callable[[PageRequest, str], bytes]) -> Callable[[Request], Any]:
    def handle(page_request: PageRequest, request: Request) -> Response:
        base_url = site.page_url or _find_base_url(request)
        version = page_request.version
        headers = {"Content-Type": MEDIA_TYPE, "Cache-Control": "private, no-cache"}
        if version:
            state = "\n".join((_FORMAT_VERSION, __version__, version, base_url, request.url.path))
            headers["ETag"] = f'"{hashlib.sha256(state.encode()).hexdigest()[:32]}"'
            known_etags = [tag.strip().removeprefix("W/") for tag in page_request.known_etags.split(",")]
            if headers["ETag"] in known_etags:
                return Response(status_code=304, headers=headers)
        return Response(render(page_request, base_url), headers=headers)

    return build_request_endpoint(site, handle)


def _find_base_url(request: Request) -> str:
    """Return the URL that the client used. Its host was checked before."""
    is_https = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", "").strip().lower())
    return f"{'https' if is_https else 'http'}://{request.headers.get('host', 'localhost')}"


def _render_proposals(request: PageRequest, base_url: str) -> bytes:
    activities = list_recent_activities(request.workspace, request.proposals, MAX_ENTRIES)
    title = f"Proposals of {request.workspace_name}"
    entries = [_build_activity_entry(request, activity) for activity in activities]
    return render_feed(base_url, PROPOSALS_FEED, request.urls.proposals(), title, entries)


def _build_activity_entry(request: PageRequest, activity: Activity) -> FeedEntry:
    return FeedEntry(
        f"urn:uuid:{activity.id}",
        activity.summary,
        activity.time,
        activity.author_name,
        request.urls.proposal(activity.proposal) + activity.fragment,
        activity.text,
        activity.kind.value,
    )


def _render_changes(request: PageRequest, base_url: str) -> bytes:
    """Return the feed of the first-parent history, as far as a shallow clone has it. Raises NoHistory."""
    request.workspace.history()
    git, tip = request.workspace.git, request.workspace.tip()
    commits: list[Commit] = []
    if tip is not None:
        history = walk_first_parents(git.commit, git.boundary, tip, max_commits=MAX_ENTRIES)
        try:
            commits.extend(history)
        except DamagedRepository:  # the commits before the damage are shown
            if not commits:
                raise
    title = f"Changes of {request.workspace_name}"
    entries = [_build_commit_entry(request, commit) for commit in commits]
    return render_feed(base_url, CHANGES_FEED, request.urls.library(), title, entries)


def _build_commit_entry(request: PageRequest, commit: Commit) -> FeedEntry:
    info = describe_commit(commit)
    _, _, text = commit.message.strip().partition("\n")
    title = info.subject or f"Commit {shorten_id(commit.id)}"
    return FeedEntry(
        f"urn:uuid:{build_permanent_id(commit.id)}",
        title,
        info.time,
        format_commit_author(info),
        request.urls.commit(commit.id),
        text.strip(),
    )


def render_feed(base_url: str, path: str, page: str, title: str, entries: Iterable[FeedEntry]) -> bytes:
    """Return a feed as XML. `path` is its own path, and `page` that of the page with the same content."""
    # The prefix of a namespace is registered for the whole process, so names are written without one.
    feed = ElementTree.Element("feed", {"xmlns": _ATOM, "xml:lang": "en"})
    entries = list(entries)
    _add(feed, "id", f"urn:uuid:{build_permanent_id(base_url + path)}")
    _add(feed, "title", title)
    _add(feed, "updated", _format_time(max((entry.time for entry in entries), default=_NO_TIME)))
    ElementTree.SubElement(feed, "link", rel="self", type=MEDIA_TYPE, href=base_url + path)
    ElementTree.SubElement(feed, "link", rel="alternate", type="text/html", href=base_url + page)
    _add(feed, "generator", "Docyard", version=__version__)
    for entry in entries:
        element = ElementTree.SubElement(feed, "entry")
        _add(element, "id", entry.id)
        _add(element, "title", entry.title)
        _add(element, "updated", _format_time(entry.time))
        _add(ElementTree.SubElement(element, "author"), "name", entry.author or "unknown author")
        ElementTree.SubElement(element, "link", rel="alternate", type="text/html", href=base_url + entry.path)
        if entry.category:
            ElementTree.SubElement(element, "category", term=entry.category)
        text = shorten(entry.text, _MAX_SUMMARY_CHARACTERS)
        _add(element, "summary", text or entry.title, type="text")
    data: bytes = ElementTree.tostring(feed, "utf-8", xml_declaration=True)
    return data


def _add(parent: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, name, attributes).text = _INVALID_CHARACTER.sub("\ufffd", text)


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
