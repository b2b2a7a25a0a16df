"""The HTTP server: who may connect, and which application answers.

access.py          which requests are heard at all
authentication.py  who sent a request
login.py           `/login`, where a person shows a token, and `/logout`, where the session ends
login_page.py      the page that asks for a token
refusals.py        answers to requests that are not let in
server.py          the application
settings.py        what a server over HTTP was asked to be
timeouts.py        how long the server waits for a client, and who gives way when too many are connected
"""
