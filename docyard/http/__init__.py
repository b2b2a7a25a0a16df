"""The HTTP server: authentication, and the routing of requests to MCP or pages.

authentication.py  authentication by token or by session
host_origin.py     validation of the headers Host and Origin
login.py           `/login`, which accepts a token, and `/logout`, which ends the session
login_page.py      the login page, and the path of the redirect after a login
readiness.py       `/readyz`: the state of each documentation source
refusals.py        responses to rejected requests
server.py          the application and its server
settings.py        the settings of a server over HTTP
timeouts.py        request timeouts and a connection cap
"""
