"""The pages of records: searches over time, top questions, questions without results, reports of readers.

proposals.py  the proposal for the document that a question did not find
records.py    the page, and its forms
routes.py     the routes
"""
