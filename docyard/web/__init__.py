"""The page: documents, their history, search and proposals, for people who look rather than read JSON.

site.py        what is served, and who acts on it
urls.py        where each thing is found
answering.py   one request: what was asked, answered in a worker thread
failing.py     what went wrong, as a page
forms.py       what a form may send, and that it came from a page of ours
templating.py  the one door to Jinja2
routes.py      which address is answered by what
assets.py      the files that pages are dressed with
missing.py     an address that leads nowhere, and what was meant by it
diffing.py     changes as a page shows them; diff_rows.py: their rows
live.py        open pages are told that something moved; versions.py: which state a page shows
warming.py     what the first page would wait for
library/       folders, and search
documents/     a document, its history, its blame, a commit, and its form
proposals/     read, compared, spoken of, decided and merged
"""
