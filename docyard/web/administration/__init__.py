"""The pages of administrators: organizations, servers, namespaces and rules.

object_forms.py  the fields of the form of an object, and the values that a form sends
pages.py         the pages, and the changes that their forms make
routes.py        the routes, which answer everyone else like an unknown page
"""
