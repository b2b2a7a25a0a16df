"""The web pages: documents, their history, search and proposals.

administration/  the pages of administrators of a server of organizations
background.py    a background queue for work that pages do not wait for
charts.py        charts as SVG, on a page or in a file
diagrams.py      the frame that draws diagrams
diff/            the view of changes on a page
documents/       the pages of a document
endpoints.py     endpoints that answer a request in a worker thread
errors.py        the page of an error
feeds.py         Atom feeds of proposals and of changes
forms.py         the fields of a form
growth.py        the count of documents and tasks over time, in the background and in a cache
headers.py       security headers of every response
home.py          the home page
library/         the pages of a workspace
live.py          server-sent events for open pages
not_found.py     the page for an unknown URL
page_request.py  a request for a page, with its index, snapshot and caller
planning/        the pages of tasks, drift and traces
proposals/       the pages of proposals
records/         the pages of recorded searches, and of reports of readers
routes.py        the routes of all pages
servers.py       the first page of a server of organizations
site.py          the pages of one server, and their shared state
statistics/      the page of statistics over time, which `docyard report` prints
summaries.py     summaries of documents, and the last change of each
templates.py     the boundary module of Jinja2
urls.py          the URLs of pages
"""
