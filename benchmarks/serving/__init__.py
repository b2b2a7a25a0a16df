"""Measurements of servers: starts, calls, pages and memory.

first_queries.py  times of first and second runs of queries over stdio and HTTP
http_calls.py     tool calls over HTTP
http_load.py      searches over HTTP by many clients at once
minimal_pages.py  a minimal server of one short page, for comparison
minimal_server.py a minimal MCP server with one tool, for comparison
node_load.py      searches over HTTP of several nodes that share an index
pages.py          times of each kind of page of a real server over HTTP
server_memory.py  the memory of a server that handles queries over stdio
sources.py        a server of 100 sources compared with one, and searches of several sources
startup.py        times of server starts until the first `tools/list` or search, and of pings, over stdio
stdio.py          a minimal MCP client over stdio
taxonomy.py       times of `tools/list` with as many keys and values as the contract allows
"""
