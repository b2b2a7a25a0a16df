"""A server of many documentation sources, for `docyard serve --sources`.

default_organization.py  the organization `default` in the database of such a server
follower.py              fetches the sources that have a URL, and has their list read again
record.py                the record of the file as a server has read it last
records.py               the records that the table [analytics] enables
report.py                the state of the sources, and the plan of a changed file, as text and JSON
service.py               the service of a server: its dispatcher and the state of each source
webhooks.py              the reaction to webhooks: a fetch of the sources of a repository
"""
