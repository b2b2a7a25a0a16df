"""What a call did, collected for the records of a server.

searches.py   the searches of one call
"""
