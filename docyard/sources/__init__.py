"""A server of many documentation sources, for `docyard serve --sources`.

follower.py     fetches the sources that have a URL, and has their list read again
record.py       the record of the file as a server has read it last
report.py       the state of the sources, and the plan of a changed file, as text and JSON
service.py      the service of a server: its dispatcher and the state of each source
webhooks.py     the reaction to webhooks: a fetch of the sources of a repository
"""
