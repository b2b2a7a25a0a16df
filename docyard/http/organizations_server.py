"""The HTTP application of a server of organizations: MCP for agents, pages for administrators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from docyard.caller import READ_SCOPE
from docyard.database.errors import DatabaseUnavailable
from docyard.hosting.organization_sources import OrganizationSources
from docyard.hosting.views import select_administered
from docyard.http.authentication import AuthenticationMiddleware, FailedLoginThrottle, find_required_scope
from docyard.http.challenges import Challenges
from docyard.http.configuration import build_configured_settings
from docyard.http.endpoints import BuildObserver, BuildReceiver, Endpoints
from docyard.http.health import IndexReadiness, PartState
from docyard.http.host_origin import HostOriginMiddleware, is_forwarded_https
from docyard.http.monitoring import Monitoring
from docyard.http.operations import Operations
from docyard.http.organizations import SERVER_PATH, OrganizationsEndpoint, list_hosts, read_host
from docyard.http.refusals import MCP_PATH, is_mcp_path
from docyard.http.server import (
    Listener,
    ShutdownMiddleware,
    build_identity_routes,
    create_inner_app,
    run_app,
    wrap_with_shutdown,
)
from docyard.http.supervisor import find_current_worker
from docyard.identity.access_tokens import AccessTokens
from docyard.identity.identity import NO_IDENTITY, Identity, build_identity, check_identity
from docyard.organizations.authority import Administrator, Places
from docyard.records.problem_reports import build_report_receiver
from docyard.records.rows import RecordTarget
from docyard.sessions.database import DatabaseSessions
from docyard.web.administration.pages import AdministrationAccess
from docyard.web.administration.routes import build_administration_routes
from docyard.web.records.records import RecordsAccess
from docyard.web.records.routes import build_records_routes
from docyard.web.servers import ListedServer, Pages, ServersAccess, build_servers_routes
from docyard.web.templates import serve_static_file

if TYPE_CHECKING:
    from starlette.types import Scope

    from docyard.caller import Caller
    from docyard.hosting.service import OrganizationsService
    from docyard.hosting.views import View
    from docyard.http.settings import HttpSettings
    from docyard.mcp_server.calls import CallObserver
    from docyard.settings.file import ServerSettings
    from tools.records.problem_reports import ReceiveReport
    from tools.retrieval.dispatcher import SourcesDispatcher


def build_organizations_app(
    service: OrganizationsService,
    settings: HttpSettings,
    port: int,
    *,
    toolsets: tuple[str, ...] | None = None,
    build_observer: BuildObserver = lambda view, dispatcher: None,
    build_receiver: BuildReceiver = lambda view: None,
    throttle: FailedLoginThrottle | None = None,
    identity: Identity = NO_IDENTITY,
    operations: Operations = Operations(),  # noqa: B008 - immutable
) -> ShutdownMiddleware:
    """Return the application of a server that listens on a port."""
    hosting, operator = service.hosting, service.settings.operator
    endpoints = Endpoints(hosting, toolsets, build_observer, build_receiver)

    @asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[None]:
        async with endpoints.run():
            yield

    inner_app = create_inner_app(run, None)
    is_proxied = bool(settings.allowed_names)
    # The hosts of servers are names, too. The headers of senders that are no trusted proxies are removed.
    may_be_proxied = is_proxied or operations.trusted_proxies is not None
    sessions = DatabaseSessions(service.database, signing_keys=service.engine.signing_keys)
    challenges = Challenges(identity.issuers, partial(_find_base_url, service, identity, port))
    authentication = AuthenticationMiddleware(
        inner_app,
        (AccessTokens(service.database), *identity.verifiers),
        sessions,
        throttle or FailedLoginThrottle(),
        cookie_name=f"docyard_session_{port}",
        may_write=True,  # the pages of administrators
        is_proxied=may_be_proxied,
        anonymous_scopes=frozenset({READ_SCOPE}),
        find_required_scope=_find_required_scope,
        challenges=challenges,
        provider_host=None if identity.sign_in is None else identity.sign_in.host,
    )
    inner_app.add_exception_handler(DatabaseUnavailable, authentication.handle_unavailable)
    mcp_endpoint = OrganizationsEndpoint(hosting, endpoints, port, authentication.require_token)
    inner_app.router.routes.extend(
        [
            *build_identity_routes(authentication, sessions, identity, challenges, str(port)),
            Route(MCP_PATH, mcp_endpoint),
            Route(SERVER_PATH, mcp_endpoint),
            Route("/static/{name}", serve_static_file),
            *build_servers_routes(
                ServersAccess(partial(_list_servers, hosting, identity), partial(_list_pages, hosting))
            ),
            *operations.build_routes(),
            *build_administration_routes(
                AdministrationAccess(
                    service.database,
                    Places(service.folder, operator.roots, operator.url_hosts),
                    partial(_find_administrator, hosting),
                    _ADMINISTRATOR_PAGES,
                )
            ),
            *build_records_routes(
                RecordsAccess(
                    service.database,
                    service.settings.records.mode,
                    partial(_list_administered_ids, hosting),
                    pages=_ADMINISTRATOR_PAGES,
                )
            ),
        ]
    )
    allowed_hosts = settings.build_allowed_hosts(port).extend(partial(list_hosts, hosting, port))
    host_check = HostOriginMiddleware(authentication, allowed_hosts, is_proxied=may_be_proxied)
    app = operations.wrap(host_check, is_proxied=is_proxied)
    return wrap_with_shutdown(app, inner_app, [endpoints.close])


_READER_PAGES: Pages = (("Servers", "/"),)
_ADMINISTRATOR_PAGES: Pages = (*_READER_PAGES, ("Records", "/records"), ("Administration", "/admin"))


def _list_pages(hosting: OrganizationSources, caller: Caller) -> Pages:
    """Return the main pages that a caller can open."""
    organizations = select_administered(hosting.directory, caller.principal)
    administers = organizations is None or bool(organizations)
    return _ADMINISTRATOR_PAGES if administers else _READER_PAGES


def _list_servers(hosting: OrganizationSources, identity: Identity, request: Request) -> list[ListedServer]:
    """Return the servers that the sender of a request may read."""
    scheme = "https" if is_forwarded_https(request.scope) else request.url.scheme
    base_url = identity.base_url or f"{scheme}://{request.url.netloc}"
    listed_servers = []
    for view in hosting.list_views(request.state.caller.principal):
        organization, server = view.organization, view.server
        path = SERVER_PATH.format(organization=organization.slug, server=server.slug)
        title = f"{organization.name or organization.slug}: {server.name or server.slug}"
        namespaces = [(name, organization.namespaces[name].description) for name in sorted(view.namespaces)]
        listed_servers.append(ListedServer(title, base_url + path, namespaces))
    return listed_servers


def _find_required_scope(scope: Scope) -> str | None:
    """Return the scope that a request needs. The pages of administrators check their callers themselves."""
    is_form = scope["method"] == "POST" and not is_mcp_path(scope["path"])
    return None if is_form else find_required_scope(scope)


def _find_administrator(hosting: OrganizationSources, caller: Caller, slug: str) -> Administrator | None:
    """Return the administrator that a caller is, of the organization with a slug if that is one of theirs."""
    principal = caller.principal
    organizations = select_administered(hosting.directory, principal)
    if principal is None or (organizations is not None and not organizations):
        return None
    if organizations is None:
        return Administrator(principal)
    return Administrator(principal, slug if slug in organizations else next(iter(organizations)))


def _list_administered_ids(hosting: OrganizationSources, caller: Caller) -> Collection[str] | None:
    """Return the ids of the organizations that a caller administers; None for all."""
    organizations = select_administered(hosting.directory, caller.principal)
    return None if organizations is None else [entry.id for entry in organizations.values()]


def build_organizations_http_settings(settings: ServerSettings) -> HttpSettings:
    """Return the address and the names of the server. Raises InvalidHttpSection."""
    return build_configured_settings(settings.http, no_token=True, read_only=True)


def _find_base_url(service: OrganizationsService, identity: Identity, port: int, scope: Scope) -> str:
    """Return the URL by which a request names this server: that of a server with a host, else the common."""
    host = read_host(scope, port)
    if host not in service.hosting.directory.hosts:
        return identity.base_url
    return f"{'https' if identity.base_url.startswith('https:') else 'http'}://{host}"


def start_organizations_server(service: OrganizationsService, toolsets: tuple[str, ...] | None) -> None:
    """Serve until a signal stops the server; print one line with its URL when connections are accepted.

    Raises InvalidHttpSection, CannotListen, IncompleteIdentity, SchemaMismatch.
    """
    server_settings = service.settings
    settings = build_organizations_http_settings(server_settings)
    check_identity(server_settings.identity, settings.page_url)
    worker = find_current_worker()
    service.start(leads=worker is None or worker.is_first)
    monitoring = Monitoring(server_settings, service.database, service.engine)
    listener = Listener.open(settings.address)
    port = listener.port
    try:
        identity = build_identity(
            server_settings.identity,
            settings.build_page_url(port),
            None,
            has_rules=False,
            operator_groups=server_settings.operator.groups,
        )
        app = build_organizations_app(
            service,
            settings,
            port,
            toolsets=toolsets,
            build_observer=partial(_observe_view, monitoring),
            build_receiver=partial(_build_receiver, service),
            identity=identity,
            operations=monitoring.build_operations(_describe_parts(service)),
        )
        monitoring.start()
        run_app(app, listener, settings.build_url(port))
    finally:
        monitoring.close()
        listener.close()


def _observe_view(monitoring: Monitoring, view: View, dispatcher: SourcesDispatcher) -> CallObserver:
    """Return the observer of the calls of a view."""
    return monitoring.observe_server(
        view.organization.id,
        dispatcher.find_tool,
        lambda: view.namespaces,
        partial(_build_target, view),
    )


def _build_receiver(service: OrganizationsService, view: View) -> ReceiveReport | None:
    """Return the function that stores the reports of readers; None if nothing is recorded."""
    if service.settings.records.mode == "off":
        return None
    return build_report_receiver(service.database, partial(_build_target, view))


def _build_target(view: View) -> RecordTarget:
    """Return the ids of a server in the records."""
    return RecordTarget(view.organization.id, view.server.id, view.organization.namespace_ids)


def _describe_parts(service: OrganizationsService) -> Mapping[str, Callable[[], PartState]]:
    """Return the functions that describe the parts of the server for `/readyz`."""
    hosting = service.hosting

    def describe_database() -> PartState:
        failure = hosting.failure
        is_available = failure is None and hosting.is_ready
        details = {"available": is_available} | ({} if failure is None else {"reason": failure.message})
        # Without the database, the organizations that were read before are served.
        return PartState(is_available, not hosting.is_ready, details)

    def describe_namespaces() -> PartState:
        failures = [source for source in hosting if source.failure is not None]
        slugs = {entry.id: entry.slug for entry in hosting.directory.organizations.values()}
        details = [
            {
                "organization": slugs.get(source.organization, source.organization),
                "name": source.name,
                "reason": source.failure.reason,
            }
            for source in failures
            if source.failure is not None
        ]
        return PartState(not failures, False, details)

    parts = {"database": describe_database, "namespaces": describe_namespaces}
    engine = service.settings.engine
    if engine.url is not None:
        parts["indexes"] = IndexReadiness(lambda: hosting, engine.max_lag).describe
    return parts
