"""Feeds are valid Atom (RFC 4287), have permanent ids, and are not sent again unchanged."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest

from docyard.web import feeds
from docyard.web.feeds import FeedEntry, render_feed
from docyard.web.urls import CHANGES_FEED, PROPOSALS_FEED
from tests.docyard.web.page_server import ParsedPage
from tests.docyard.web.proposals.pages import ProposalPages, create_pages
from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR
from workspace.proposals.events import ReviewDecision

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE_TITLE = "</title><script>alert(1)</script> & ]]> \u202eevil"
RFC_3339_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> ProposalPages:
    """Return the pages of a workspace with an activity of each kind."""
    pages = create_pages(tmp_path_factory.mktemp("feeds"))
    setup = pages.setup
    merged = setup.submit_proposal("Merged.", slug="install")
    setup.proposal_actions.comment(merged.id, AGENT_ACTOR, "Per <b>minute</b>?")
    setup.approve(merged)
    setup.proposal_actions.merge(merged.id, setup.person())
    closed = setup.open(HOSTILE_TITLE)
    setup.proposal_actions.review(closed.id, setup.person(), ReviewDecision.REQUEST_CHANGES, text="No.")
    setup.proposal_actions.close(closed.id, AGENT_ACTOR)
    setup.proposal_actions.reopen(closed.id, AGENT_ACTOR)
    return pages


def check_atom(data: bytes) -> Any:
    """Check the rules of RFC 4287 §4.1 on a feed, and return the feed as a reader parses it."""
    parsed = feedparser.parse(data)
    assert not parsed.bozo, parsed.get("bozo_exception")
    assert parsed.version == "atom10"
    feed = ElementTree.fromstring(data)
    assert feed.tag == f"{ATOM}feed"
    entries = feed.findall(f"{ATOM}entry")
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            (child,) = element.findall(f"{ATOM}{name}")
            assert (child.text or "").strip()
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", element.findtext(f"{ATOM}id") or "")
        assert RFC_3339_TIME.fullmatch(element.findtext(f"{ATOM}updated") or "")
        links = [(link.get("rel"), link.get("type")) for link in element.findall(f"{ATOM}link")]
        assert len(set(links)) == len(links)
        assert all(link.get("href", "").startswith("http") for link in element.findall(f"{ATOM}link"))
    assert [link.get("rel") for link in feed.findall(f"{ATOM}link")] == ["self", "alternate"]
    for entry in entries:
        (author,) = entry.findall(f"{ATOM}author")
        assert author.findtext(f"{ATOM}name")
        assert len(entry.findall(f"{ATOM}summary")) == 1
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(ids)) == len(ids)
    return parsed


@loop_over("url", [PROPOSALS_FEED, CHANGES_FEED])
def test_feed_is_valid_atom(pages: ProposalPages, url: str) -> None:
    response = pages.client.get(url)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/atom+xml"
    assert response.headers["cache-control"] == "private, no-cache"
    parsed = check_atom(response.content)
    assert parsed.entries
    for entry in parsed.entries:
        page = pages.client.get(entry.link.removeprefix("http://testserver"))
        assert page.status_code == 200, entry.link


def test_feed_of_proposals_has_each_kind_of_activity(pages: ProposalPages) -> None:
    parsed = check_atom(pages.client.get(PROPOSALS_FEED).content)
    kinds = {entry.tags[0].term for entry in parsed.entries}
    assert kinds == {"opened", "submitted", "commented", "reviewed", "merged", "closed", "reopened"}
    times = [entry.updated for entry in parsed.entries]
    assert times == sorted(times, reverse=True)
    titles = [entry.findtext(f"{ATOM}title") for entry in read_entries(pages)]
    assert "Bea approved “Say more”" in titles
    assert f"Bea requested changes of “{HOSTILE_TITLE}”" in titles


def read_entries(pages: ProposalPages) -> list[ElementTree.Element]:
    return ElementTree.fromstring(pages.client.get(PROPOSALS_FEED).content).findall(f"{ATOM}entry")


def test_texts_of_people_are_plain_text(pages: ProposalPages) -> None:
    data = pages.client.get(PROPOSALS_FEED).content
    assert b"<script" not in data
    assert b"<b>" not in data
    summaries = [entry.find(f"{ATOM}summary") for entry in read_entries(pages)]
    assert {summary.get("type") for summary in summaries if summary is not None} == {"text"}
    assert "Per <b>minute</b>?" in {summary.text for summary in summaries if summary is not None}


@loop_over("url", [PROPOSALS_FEED, CHANGES_FEED])
def test_unchanged_feed_returns_304(pages: ProposalPages, url: str) -> None:
    tag = pages.client.get(url).headers["etag"]
    for value in (tag, f'"other", W/{tag}'):
        response = pages.client.get(url, headers={"If-None-Match": value})
        assert (response.status_code, response.content) == (304, b"")
        assert response.headers["etag"] == tag


def test_new_activity_changes_the_tag_and_keeps_the_ids(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    first = pages.client.get(PROPOSALS_FEED)
    pages.setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, "New.")
    pages.site.versions.invalidate()
    second = pages.client.get(PROPOSALS_FEED, headers={"If-None-Match": first.headers["etag"]})
    assert second.status_code == 200
    first_ids = [entry.id for entry in check_atom(first.content).entries]
    second_ids = [entry.id for entry in check_atom(second.content).entries]
    assert second_ids[1:] == first_ids


def test_ids_of_entries_do_not_depend_on_the_host(pages: ProposalPages) -> None:
    local_feed = check_atom(pages.client.get(PROPOSALS_FEED).content)
    public_feed = check_atom(
        pages.client.get(
            PROPOSALS_FEED, headers={"Host": "docs.example.org", "X-Forwarded-Proto": "https"}
        ).content
    )
    assert local_feed.feed.id != public_feed.feed.id
    assert [entry.id for entry in local_feed.entries] == [entry.id for entry in public_feed.entries]
    assert public_feed.entries[0].link.startswith("https://docs.example.org/proposals/")


def test_feed_is_limited(pages: ProposalPages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_ENTRIES", 2)
    newest = [entry.id for entry in check_atom(pages.client.get(PROPOSALS_FEED).content).entries]
    monkeypatch.undo()
    assert newest == [entry.id for entry in check_atom(pages.client.get(PROPOSALS_FEED).content).entries][:2]


@loop_over("url", ["/", "/doc/guide.md", "/proposals", "/tasks"])
def test_pages_name_the_feeds(pages: ProposalPages, url: str) -> None:
    links = ParsedPage(pages.get(url)).find_all("link")
    found = [link["href"] for link in links if link.get("type") == "application/atom+xml"]
    assert found == [PROPOSALS_FEED, CHANGES_FEED]


def test_feed_without_proposals_is_valid(tmp_path: Path) -> None:
    assert check_atom(create_pages(tmp_path).client.get(PROPOSALS_FEED).content).entries == []


def test_characters_that_xml_has_not_are_replaced() -> None:
    text = "a\x00b\x1bc\ud800d\ufffee\U0001f600"
    entry = FeedEntry("urn:uuid:" + "0" * 36, text, datetime(1970, 1, 1, tzinfo=UTC), text, "/", text * 1_000)
    parsed = check_atom(render_feed("http://[::1]:8000", PROPOSALS_FEED, "/", text, [entry]))
    assert parsed.entries[0].title == "a\ufffdb\ufffdc\ufffdd\ufffde\U0001f600"
    assert len(parsed.entries[0].summary) == 2_000
