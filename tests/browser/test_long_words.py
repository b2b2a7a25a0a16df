"""Words that are longer than a narrow screen break: no page is wider than the screen."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.conftest import SignIn
from tests.browser.page_server import start_page_server
from tests.browser.sample_site import RULES
from tests.browser.test_axe import OPEN_FOLDS_SCRIPT
from tests.repositories import create_repository
from workspace.policy.tokens import Tokens

pytestmark = pytest.mark.browser

NAME = "donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft"
LONG = NAME * 3
README = f"""# {LONG}

{LONG} `{LONG}`

| {NAME} | b |
|---|---|
| {LONG} | c |

- [ ] {LONG} {{#first}}
  - Assignee: {NAME}
- [ ] Second
  - Depends on: #first
"""
DOCUMENT = f"""---
type: plan
tags: [{NAME}, {NAME}-b]
---
# {LONG}

## REQ-1 {LONG} {{#{NAME}}}

- Covers: `src/{NAME}/**`

[{LONG}](nowhere.md)

- [ ] {LONG} REQ-1
"""
FILES = {"README.md": README, f"{NAME}/{NAME}.md": DOCUMENT, f"src/{NAME}.py": "1\n", "docyard.toml": RULES}
WIDTH_SCRIPT = "() => document.documentElement.scrollWidth - innerWidth"


@pytest.mark.parametrize("width", [1280, 390])
def test_long_words_fit_the_screen(sign_in: SignIn, tmp_path: Path, width: int) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    repo.commit({f"src/{NAME}/{NAME}.py": "2\n"}, LONG)
    token = Tokens(repo.path / ".git").add("ana", NAME, "ana@harbor.example")
    with start_page_server(repo, tmp_path / "home") as server:
        with server.connect_agent() as agent:
            title = LONG[:200]
            id = str(agent.call("create_proposal", title=title, description=f"{LONG} `{LONG}`")["proposal"])
            operation = {"operation": "replace_text", "file": "README.md", "old": "Second", "new": LONG}
            section = {"operation": "add_section", "file": "README.md", "title": NAME, "content": LONG}
            agent.call("edit_document", proposal=id, operations=[operation, section])
            agent.call("update_proposal", proposal=id, action="comment", text=f"{LONG}\n\n    {LONG}")
            agent.call("update_proposal", proposal=id, action="submit")
        path = f"{NAME}/{NAME}.md"
        urls = [
            "/",
            "/library",
            "/tasks",
            "/tasks?view=list",
            "/drift",
            "/statistics",
            "/trace",
            "/trace/REQ-1",
        ]
        urls += [
            f"/folder/{NAME}",
            f"/search?q={quote(LONG)}",
            f"/doc/{LONG}.md",
            "/proposals",
            "/doc/README.md",
        ]
        urls += [f"/{kind}/{path}" for kind in ("doc", "history", "blame", "edit", "move", "remove")]
        urls += [f"/new?folder={NAME}", f"/commit/{repo.head()}", f"/proposals/{id}"]
        urls += [f"/proposals/{id}/changes?view={view}" for view in ("side", "inline", "rendered")]
        page = sign_in(server, token, viewport={"width": width, "height": 844})
        excess_px_by_url = {}
        for url in urls:
            page.goto(url)
            page.evaluate(OPEN_FOLDS_SCRIPT)
            excess_px = page.evaluate(WIDTH_SCRIPT)
            if excess_px > 0:
                excess_px_by_url[url] = excess_px
    assert excess_px_by_url == {}
