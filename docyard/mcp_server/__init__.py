"""The MCP server: the only package that imports `mcp` and `mcp_types`.

This file imports nothing: a server needs no client, and importing the SDK takes most of a start.

    arrays.py         arrays as the arguments of a tool, which are wrapped in an object for the SDK
    calls.py          tool calls in worker threads
    client.py         a client of an MCP server that runs in a child process
    handlers.py       handlers for resources, prompts and completions
    http.py           MCP over HTTP at one address
    input.py          lines from standard input, and errors for invalid lines
    instructions.py   the instructions in the handshake
    metrics_observer.py  the observer that counts calls in the metrics
    notifications.py  notifications about changed tools and resources
    requests.py       requests other than tool calls
    review_page.py    requests to a user to open the page of a proposal, and the wait for a decision
    server.py         an MCP server of a dispatcher's tools, also over standard input and output
    start_error.py    a server that answers each call with the reason why `docyard serve` cannot start
    stdio.py          standard input and output for the SDK's `stdio_server`, with back-pressure
"""
