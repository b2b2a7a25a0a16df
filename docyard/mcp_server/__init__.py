"""The MCP server: the only package that imports `mcp` and `mcp_types`.

This file imports nothing: a server needs no client, and importing the SDK takes most of a start.

    arrays.py         arrays sent as the arguments of a tool, which the SDK refuses without a word on what …
    calls.py          one call of a tool
    client.py         A client of an MCP server that runs as a child process
    handlers.py       documents and sections as resources of the protocol
    http.py           messages over HTTP at one address, for both protocol eras
    input.py          lines from standard input
    instructions.py   the instructions that a client gets with the handshake
    notifications.py  telling a client that the list of tools says something else by now, in both eras of …
    requests.py       requests that are no calls of tools
    server.py         A low-level MCP server of a toolbox's tools, over standard input and output, for …
    stdio.py          standard input and output for the SDK's `stdio_server`, with back-pressure and …
"""
