"""The one door to the Model Context Protocol: `mcp` and `mcp_types` are imported only inside this package.

    server.py      a low-level server of a toolbox's tools, for both protocol eras
    instructions.py  the server's instructions: a way through the tools that are served
    arrays.py      arrays as arguments, which the SDK refuses
    calls.py       one call: in a worker, with progress, and what becomes of a bug
    requests.py    one request that is no call; resources.py, prompts.py and completing.py are made of them
    announcing.py  tells of another list of tools, watching.py of resources that changed
    workers.py     threads for what may wait for the disk
    answers.py     a tool's answer as a result of the protocol
    stdio.py       standard input and output for the SDK's stdio server, with back-pressure
    client.py      the SDK's client, as the demonstration uses it

Nothing of these is imported here: a server needs no client, and importing the SDK is most of a start.
"""
