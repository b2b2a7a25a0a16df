"""Starting a server over HTTP: what could not be served is refused before anything listens."""

from __future__ import annotations

import logging
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docyard import __version__, environment
from docyard.http.binding import listening
from docyard.http.running import run
from docyard.http.server import Parts, build_app
from docyard.mcp_server.http import serve_http
from docyard.terminal.exits import CannotError
from docyard.web.site import Site

if TYPE_CHECKING:
    from starlette.routing import Route

    from docyard.http.settings import HttpSettings
    from docyard.service import Served

log = logging.getLogger("docyard")

_MOST_SCRIPT = 20_000_000  # bytes


def start(served: Served, settings: HttpSettings, *, mermaid: Path | None = None, math: bool = False) -> None:
    """Serve until a signal asks to stop.

    One line goes to standard output as soon as connections are accepted: where the page is. Raises
    CannotListen, UnsafeTokens and DamagedTokens, and CannotError for a script that cannot be read, or for
    formulas that nothing could set.
    """
    people = served.people()
    if people is not None:
        people.all()
    if math:
        _check_math()
    script = None if mermaid is None else _script(mermaid)
    site = Site(served.index, not served.writes, script, math, served.written)
    endpoint = partial(
        serve_http,
        served.toolbox,
        version=__version__,
        load=partial(_load, served),
        warm=served.warm,
    )
    sockets, port = listening(settings.address)
    try:
        app = build_app(Parts(site, people, endpoint, _hooks(served)), settings, port)
        run(app, sockets, partial(_tell, settings.url(port)))
    finally:
        for each in sockets:
            each.close()


def _load(served: Served) -> None:
    """Make ready, in the background, what the first call and the first page would wait for."""

    served.load()
    from docyard.web.warming import warm_pages

    warm_pages()


def _hooks(served: Served) -> list[Route]:
    """What forges may call, where a secret says that they may."""
    secret, rounds = environment.webhook_secret(), served.rounds
    if secret is None or rounds is None:
        return []
    from docyard.forges.exchanges import Exchanges
    from docyard.forges.webhooks import Webhooks, webhook_routes

    exchanges = Exchanges(rounds.workspace, environment.remote_access, rounds, served.written)
    return webhook_routes(Webhooks(rounds.workspace, exchanges, environment.forge_access, secret))


def _tell(url: str) -> None:
    try:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
    except OSError as error:
        log.warning("nobody reads where the page is: %s", error.strerror)


def _check_math() -> None:
    from workspace.rendering.math import is_installed

    if not is_installed():
        from docyard.doctor.installation import extra_command

        raise CannotError(
            "--math sets formulas with latex2mathml, which is not installed",
            fix=f"Install it with `{extra_command('math')}`, or leave out --math: formulas stay as text.",
        )


def _script(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_SCRIPT + 1)
    except OSError as error:
        raise CannotError(
            f"the script of --mermaid cannot be read ({error.strerror})", fix="Name a mermaid.min.js."
        ) from None
    if len(data) > _MOST_SCRIPT:
        raise CannotError(
            f"the script of --mermaid holds over {_MOST_SCRIPT:,} bytes", fix="Name a mermaid.min.js."
        )
    return data
