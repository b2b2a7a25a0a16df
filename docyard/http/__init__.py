"""The HTTP server: authentication, and the routing of requests to MCP or pages.

authentication.py  authentication by token or by session
client_address.py  the address of a client, from the connection or from a trusted proxy
endpoints.py       the MCP endpoints of a server of organizations, one for each view
health.py          `/healthz`, `/readyz` and `/metrics`
host_origin.py     validation of the headers Host and Origin
login.py           `/login`, which accepts a token, and `/logout`, which ends the session
login_page.py      the login page, and the path of the redirect after a login
operations.py      request ids, metrics, access logs, and the limit of requests by address
organizations.py   the endpoint of a server of organizations: the view of the caller
refusals.py        responses to rejected requests
server.py          the application and its server
server_paths.py    the paths of the servers of organizations
settings.py        the settings of a server over HTTP
timeouts.py        request timeouts and a connection cap
"""
