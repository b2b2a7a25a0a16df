"""Data of a call, collected for the records of a server.

problem_reports.py  readers' reports of problems, and the sender of a call
searches.py         the searches of one call
"""
