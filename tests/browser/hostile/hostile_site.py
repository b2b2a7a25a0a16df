"""A workspace whose names, texts and files try to run a script on each page that shows them.

Each place has a script of its own, which writes the name of the place into `window.docyardPwned`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.browser.page_server import PageServer, start_page_server
from tests.repositories import Repo, build_git_environment, create_repository
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.workspace import Workspace


def _write_script(place: str) -> str:
    """Return a script without spaces, which end the value of an attribute without quotes."""
    return f"docyardPwned='{place.replace(' ', '-')}'"


def attack(place: str) -> str:
    """Return a text that runs a script if a page shows it as HTML, as text or in an attribute."""
    return f"\"'>{attack_element(place)}"


def attack_element(place: str) -> str:
    """Return an element of HTML that runs a script, without quotes that end a title or a label."""
    return f"<img src=x onerror={_write_script(place)}>"


def attack_attribute(place: str) -> str:
    """Return a text without angle brackets that runs a script if it ends the value of an attribute."""
    return f"\"' onmouseover={_write_script(place)} x"


def attack_url(place: str) -> str:
    """Return an address that runs a script if a link of it is followed."""
    return f"javascript:{_write_script(place)}"


def write_svg(place: str) -> str:
    """Return an SVG image that runs a script in each way that SVG has, if it is opened as a document."""
    script = f"top.docyardPwned=window.docyardPwned='{place}'"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="90" height="90" onload="{script}"><script>{script}</script>'
        f'<animate attributeName="x" dur="1s" onbegin="{script}"/>'
        f'<a xlink:href="javascript:{script}"><rect width="90" height="90"/></a>'
        f'<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml" onload="{script}">'
        f'<img src="x" onerror="{script}"/></body></foreignObject></svg>'
    )


def write_html(place: str) -> str:
    """Return a page that runs a script."""
    return f"<!doctype html><html><body><script>docyardPwned='{place}'</script>{attack(place)}</body></html>"


_XHTML = (
    '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>'
    "<script>docyardPwned='XHTML'</script></body></html>"
)
_XSLT = (
    '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="data:text/xml,'
    "&lt;xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'&gt;"
    '&lt;/xsl:stylesheet&gt;"?><r xmlns:h="http://www.w3.org/1999/xhtml">'
    "<h:script>docyardPwned='XML'</h:script></r>"
)

# Files that a browser could take for something else than their type.
RAW_FILES: dict[str, str | bytes] = {
    "files/vector.svg": write_svg("an SVG image"),
    "files/VECTOR.SVG": write_svg("an SVG image with a name in capitals"),
    "files/vector.svg.md.svg": "\ufeff\n" + write_svg("an SVG image with a byte order mark"),
    "files/page.html": write_html("an HTML file"),
    "files/page.png": write_html("HTML with the name of an image"),
    "files/page": write_html("HTML without a suffix"),
    "files/page.txt": write_html("HTML with the name of a text"),
    "files/page.xhtml": _XHTML,
    "files/page.xml": _XSLT,
    "files/page.mhtml": f"MIME-Version: 1.0\nContent-Type: text/html\n\n{write_html('MHTML')}",
    "files/script.js": "docyardPwned='a script file'",
    "files/gif.html": b"GIF89a/*" + write_html("GIF and HTML").encode() + b"*/=1;",
    "files/png.html": b"\x89PNG\r\n\x1a\n" + write_html("PNG and HTML").encode(),
    "files/jpeg.svg": b"\xff\xd8\xff" + write_svg("JPEG and SVG").encode(),
    "files/pdf.pdf": b"%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n",
    "files/binary.html": b"\x00" + write_html("binary HTML").encode(),
    "files/utf7.html": "+ADw-script+AD4-docyardPwned='UTF-7'+ADw-/script+AD4-",
    "files/utf16.html": write_html("UTF-16").encode("utf-16"),
    f"files/{attack_element('the name of an image')}.png": b"\x89PNG\r\n\x1a\n",
}

MKDOCS_TEXT = f"""# Containers of MkDocs

!!! note "{attack_element("the title of an admonition")} $\\text{{{attack_element("math in a title")}}}$"
    {attack("the text of an admonition")}

??? {attack_element("the kind of an admonition")} "x"
    x

=== "{attack_element("the label of a tab")}"
    ```{attack_element("the language of code in a tab")}
    x
    ```

=== "&lt;img src=x onerror=docyardPwned='an-entity-in-the-label-of-a-tab'&gt;"
    [x]({attack_url("a link in a tab")})
"""

DOCUSAURUS_TEXT = f"""# Containers of Docusaurus

:::note[{attack_element("the title of an admonition")}]
{attack("the text of an admonition")}
:::

:::{attack_element("the kind of an admonition")}
x
:::

:::tip[&lt;img src=x onerror=docyardPwned='an-entity-in-a-title'&gt;]
[x]({attack_url("a link in an admonition")})
:::
"""


def make_documents() -> dict[str, str]:
    """Return the documents by path."""
    hostile_name = f"names/{attack('the name of a folder')}/{attack('the name of a document')}.md"
    return {
        "README.md": f"# Home {attack_element('the title of the README')}\n\n{attack('the README')}\n\n"
        f'![{attack("the alternative text of an image")}](files/vector.svg "{attack_element("a title")}")\n\n'
        f"[x]({attack_url('a link of the README')})\n",
        hostile_name: "# Named\n\nSee [the image](<../../files/page.png>). Wanted: hostilename.\n",
        "front.md": "---\n"
        f"title: {quote_yaml(attack('a title in front matter'))}\n"
        f"status: {quote_yaml(attack('a status'))}\n"
        f"owner: {quote_yaml(attack('an owner'))}\n"
        f"tags: [{quote_yaml(attack('a tag'))}]\n"
        f"{quote_yaml(attack('the name of a field'))}: {quote_yaml(attack('a field'))}\n"
        "---\n\nWanted: hostilefront.\n",
        "headings.md": f"# Top\n\n## A {attack_element('a heading')}\n\nREQ-7 wanted.\n\n"
        f"## B {{#{attack('an anchor').replace(' ', '/')}}}\n\nx\n\n"
        f"## `{attack('code in a heading')}`\n\nx\n",
        "tasks.md": f"# Tasks\n\n- [ ] {attack('the title of a task')} @{attack_element('an assignee')} "
        f"due: 2026-10-10 !high #{attack_element('a tag of a task')}\n"
        f"- [x] REQ-7 {attack_element('a task that is done')} "
        f"<!-- id: {attack_element('the id of a task')} -->\n",
        "media.md": "# Media\n\n![a](files/vector.svg) ![b](files/page.png) ![c](files/gif.html)\n"
        "![d](files/jpeg.svg) ![e](files/VECTOR.SVG) ![f](files/vector.svg.md.svg)\n"
        f"![g](data:image/svg+xml,{quote(write_svg('an image in a data URL'))})\n"
        f"![h]({attack_url('the address of an image')})\n"
        f'<img src="files/vector.svg" alt="{attack_element("alt in HTML")}" onload=docyardPwned=\'onload\'>\n'
        f"[i](files/page.html) [j](files/vector.svg)\n"
        f"[k](<files/{attack_element('the name of an image')}.png>)\n",
        "formulas.md": "# Formulas\n\n"
        f"$\\text{{{attack('text in a formula')}}}$ $\\href{{{attack_url('href in a formula')}}}{{x}}$\n"
        f'$\\verb|{attack_element("verb in a formula")}|$ $\\class{{x" onclick=docyardPwned=1}}{{y}}$\n'
        f"$\\style{{a:url(javascript:docyardPwned=1)}}{{x}}$ $\\nosuch{{{attack('an invalid formula')}}}$\n\n"
        f"$$\n\\operatorname{{</math>{attack('an operator of a formula')}}}\n$$\n\n"
        f"```math\n\\text{{</math><script>docyardPwned='a fence of math'</script>}}\n```\n",
        "code.md": f"# Code\n\n```js {attack('the attributes of a fence')}\nx\n```\n\n"
        f"~~~{attack('the language of a fence')}\nx\n~~~\n\n"
        f"```html\n{write_html('coloured HTML')}\n```\n\n```suggestion\n{attack('a suggestion')}\n```\n",
        "diagrams.md": "# Diagrams\n\n"
        f'```mermaid\nflowchart TD\n A["{attack_element("a label of a diagram")}"] --> B\n'
        f' click A "{attack_url("a link of a diagram")}"\n click B call alert(1)\n```\n\n'
        "```mermaid\n%%{init: {'securityLevel': 'loose', 'flowchart': {'htmlLabels': true}, "
        "'themeCSS': '</style><script>docyardPwned=1</script>'}}%%\nflowchart LR\n"
        f" A[\"<iframe srcdoc='<script>docyardPwned=1</script>'></iframe>\"] --> B\n```\n\n"
        f"```mermaid\nsequenceDiagram\n A->>B: {attack('a message of a diagram')}\n```\n",
        "containers.md": MKDOCS_TEXT,
        "people.md": "# People\n\nAna wrote this.\n",
        "broken.md": f"# Links\n\n[x](<{attack('the name of a missing file')}.md>) "
        f"[[{attack_element('a wiki link')}]] [^{attack_element('a footnote')}]\n\n"
        f"[^{attack_element('a footnote')}]: {attack('the text of a footnote')}\n",
    }


def quote_yaml(text: str) -> str:
    """Return a text as a scalar of YAML in single quotes."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class HostileSite:
    """A served hostile workspace, the token of a reader, and the id of the proposal."""

    server: PageServer
    token: str
    proposal_id: str


def create_hostile_repository(folder: Path) -> Repo:
    """Create a hostile repository, with commits of hostile authors."""
    settings = '[links]\ndialect = "mkdocs"\n\n[[protect]]\npaths = ["front.md"]\napprovers = ["ana"]\n'
    owner = attack("an-owner-of-code").replace(" ", "/")
    owners = f"* {owner}@harbor.example @ana\n"
    documents = make_documents()
    repo = create_repository(
        folder, {**documents, **RAW_FILES, "docyard.toml": settings, ".github/CODEOWNERS": owners}
    )
    repo.write({"people.md": f"# People\n\nAna wrote this. {attack('a changed line')}\n"})
    repo.git("add", "-A")
    identity = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (
            ("NAME", attack_attribute("the author of a commit")),
            ("EMAIL", attack_attribute("the address of an author")),
        )
    }
    message = f"{attack('the subject of a commit')}\n\n{attack('the text of a commit')}"
    subprocess.run(
        ["git", "commit", "-q", "-m", message],
        cwd=repo.path,
        env={**build_git_environment(), **identity, "PATH": os.environ["PATH"]},
        check=True,
    )
    return repo


@contextmanager
def serve_hostile_site(folder: Path, *options: str) -> Iterator[HostileSite]:
    """Serve a hostile workspace with a proposal, whose discussion is hostile."""
    repo = create_hostile_repository(folder / f"{attack_element('the name of the repository')}")
    tokens = Tokens(repo.path / ".git")
    token = tokens.add("ana", attack_attribute("the name of a person"), "ana@harbor.example")
    with start_page_server(repo, folder / "home", *options) as server:
        with server.connect_agent(attack_element("the name of a client")) as agent:
            proposal_id = str(
                agent.call(
                    "create_proposal",
                    title=attack("the title of a proposal"),
                    description=f"{attack('the description of a proposal')} @ana {attack('a mention')}",
                )["proposal"]
            )
            agent.call(
                "edit_document",
                proposal=proposal_id,
                operations=[
                    {
                        "operation": "replace_text",
                        "file": "people.md",
                        "old": "Ana wrote this.",
                        "new": f"Ben wrote {attack('a changed text')} $\\text{{{attack('changed math')}}}$.",
                    },
                    {
                        "operation": "add_section",
                        "file": "people.md",
                        "title": f"New {attack_element('a new heading')}",
                        "content": f"{attack('a new section')}\n\n```html\n{write_html('new code')}\n```\n",
                    },
                ],
            )
            agent.call("update_proposal", proposal=proposal_id, action="submit")
        _discuss(repo, token, proposal_id)
        yield HostileSite(server, token, proposal_id)


def _discuss(repo: Repo, token: str, proposal_id: str) -> None:
    """Add comments, a suggestion and a review."""
    workspace = Workspace.open(repo.path, durable=False)
    person = Tokens(workspace.git.common_dir).person(token)
    actor = Actor(
        Author(person.name, person.email, IdentitySource.TOKEN, person.token), "page", "page", person
    )
    actions = workspace.proposal_actions()
    comment = f"{attack('a comment')} @ana {attack('a mention in a comment')}\n\n"
    for text in (
        f"```suggestion\nBea wrote {attack('a suggested text')}</td></table>.\n```\n",
        f'```suggestion"{attack("the attributes of a suggestion")}\nx\n```\n',
    ):
        actions.comment(
            proposal_id, actor, comment + text, file="people.md", slug="_preamble", quote="Ben wrote"
        )
    actions.review(proposal_id, actor, ReviewDecision.REQUEST_CHANGES, attack("a review"))
