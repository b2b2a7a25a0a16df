"""The paths of the pages of the sample site, by screenshot name."""

from __future__ import annotations

from tests.browser.sample_site import SampleSite


def build_page_paths(sample_site: SampleSite) -> dict[str, str]:
    """Return the paths of all pages, by screenshot name."""
    retries_url, limits_url = (
        f"/proposals/{sample_site.proposal_ids[name]}" for name in ("retries", "limits")
    )
    return {
        "home": "/",
        "library": "/library",
        "folder": "/folder/product",
        "document": "/doc/api/tracking.md",
        "document-image": "/doc/product/vision.md#how-we-know-that-it-works",
        "history": "/history/product/roadmap.md",
        "blame": "/blame/api/tracking.md?section=rate-limits",
        "commit": f"/commit/{sample_site.server.repo.head()}",
        "search": "/search?q=how+long+does+a+client+wait",
        "edit": "/edit/api/retries.md?section=backoff",
        "create": "/new?folder=product",
        "move": "/move/product/vision.md",
        "remove": "/remove/api/retries.md",
        "proposals": "/proposals",
        "proposal": retries_url,
        "changes": f"{retries_url}/changes",
        "changes-inline": f"{retries_url}/changes?view=inline",
        "conflicts": f"{limits_url}/conflicts",
        "tasks": "/tasks",
        "tasks-list": "/tasks?view=list",
        "drift": "/drift",
        "statistics": "/statistics",
        "trace": "/trace",
        "trace-one": "/trace/REQ-2",
        "sign-in": "/login",
        "not-found": "/doc/api/traking.md",
    }
