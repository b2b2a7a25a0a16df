"""The HTTP server: authentication, and the routing of requests to MCP or pages.

authentication.py         authentication by token or by session
challenges.py             challenges of refused requests, and the metadata of the protected resource
client_address.py         the address of a client, from the connection or from a trusted proxy
configuration.py          the settings of the configuration file that the server needs
configured_repository.py  a server of one repository with a configuration file
endpoints.py              the MCP endpoints of a server of organizations, one for each view
health.py                 `/healthz`, `/readyz` and `/metrics`
host_origin.py            validation of the headers Host and Origin
login.py                  `/login`, which accepts a token, and `/logout`, which ends the session
login_page.py             the login page, and the path of the redirect after a login
monitoring.py             the limits, records and metrics of a server with a configuration file
operations.py             request ids, metrics, access logs, and the limit of requests by address
organizations.py          the endpoint of a server of organizations: the view of the caller
organizations_server.py   the application of a server of organizations
provider_login.py         sign-in at an identity provider
refusals.py               responses to rejected requests
server.py                 the application and its server
settings.py               the settings of a server over HTTP
supervisor.py             several worker processes at one address
timeouts.py               request timeouts, a connection cap, and strict line ends
"""
