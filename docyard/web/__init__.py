"""The web pages: documents, their history, search and proposals.

asked.py       A request for a page, as the handlers see it
background.py  what pages did not wait for, done beside them
diff.py        changes as a page shows them
documents/     the pages of a document
errors.py      what went wrong, as a page
forms.py       what a form may send
headers.py     headers of every answer, by which a browser keeps pages to themselves
library/       the pages of a workspace
live.py        telling pages that are open that something moved
not_found.py   the page for an address that leads nowhere
proposals/     the pages of proposals
request.py     one request
routes.py      which address is answered by what
site.py        what is served as pages, and who acts on it
summaries.py   what a list tells of a document
templates.py   the one door to Jinja2
urls.py        where each thing is found on the page
"""
