"""The pages that plan and check work: tasks, drift and traces.

drift.py   the page of sections whose code changed later
routes.py  the routes of these pages
tasks.py   the board and the list of tasks
traces.py  the matrix of traces, and the page of one identifier
"""
