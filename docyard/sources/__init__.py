"""A server of many documentation sources, for `docyard serve --sources`.

applied.py      the file as a server has read it last
follower.py     fetches the sources that have a URL, and reads the file of sources again
report.py       the state of the sources, and the plan of a changed file, as text and JSON
service.py      the service of a server: its dispatcher, and the route /readyz
"""
