"""Statistics of a workspace over time: documents, open tasks, review times, searches.

page.py        the page
statistics.py  each statistic as a chart, a table and data
"""
