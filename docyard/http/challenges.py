"""Challenges of refused requests (RFC 6750 §3), and the metadata of the protected resource (RFC 9728)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from docyard.caller import READ_SCOPE, SCOPES
from docyard.http.refusals import is_mcp_path

METADATA_PATH = "/.well-known/oauth-protected-resource"
INSUFFICIENT_SCOPE, INVALID_REQUEST = "insufficient_scope", "invalid_request"
_REALM = 'realm="docyard"'


class Challenges(NamedTuple):
    """The challenges of a server. `issuers` are its identity providers; without one, no metadata is named.

    `get_base_url` returns the URL of the server for a request, without a slash at the end.
    """

    issuers: Sequence[str] = ()
    get_base_url: Callable[[Scope], str] = lambda scope: ""

    def find_resource(self, scope: Scope) -> str:
        """Return the URL of the requested endpoint, which a token's audience may name (RFC 8707)."""
        base_url = self.get_base_url(scope)
        return base_url + (scope["path"] if base_url and is_mcp_path(scope["path"]) else "")

    def build_headers(
        self, scope: Scope, error: str = "", description: str = "", missing_scope: str = READ_SCOPE
    ) -> dict[str, str]:
        """Return the header that says what a request lacks; `missing_scope` is the scope that it needs."""
        parameters = [_REALM]
        if self.issuers:
            path = scope["path"] if is_mcp_path(scope["path"]) else ""
            metadata_url = f"{self.get_base_url(scope)}{METADATA_PATH}{path}"
            parameters += [f'resource_metadata="{metadata_url}"', f'scope="{missing_scope}"']
        elif error == INSUFFICIENT_SCOPE:
            parameters.append(f'scope="{missing_scope}"')
        if error:
            parameters.append(f'error="{error}"')
        if error and self.issuers and description:
            parameters.append(f'error_description="{_quote(description)}"')
        return {"WWW-Authenticate": f"Bearer {', '.join(parameters)}"}

    def build_routes(self) -> list[Route]:
        """Return the routes of the metadata, for the whole server and for each MCP endpoint."""
        if not self.issuers:
            return []
        return [Route(METADATA_PATH + "{path:path}", self._respond_with_metadata, methods=["GET"])]

    async def _respond_with_metadata(self, request: Request) -> Response:
        path = request.path_params["path"]
        # The answer is the same for an endpoint that does not exist.
        if path and not is_mcp_path(path):
            return Response(status_code=404)
        metadata = {
            "resource": self.get_base_url(request.scope) + path,
            "authorization_servers": list(self.issuers),
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Docyard",
        }
        return JSONResponse(metadata, headers={"Cache-Control": "max-age=300"})


def _quote(text: str) -> str:
    """Return a text that a quoted string of RFC 6750 may contain."""
    return "".join(
        character if " " <= character <= "~" and character not in '"\\' else " " for character in text
    )
