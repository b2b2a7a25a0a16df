"""Webhooks of forges: a repository on a forge changed, and the server reads the change.

branch.py          webhooks for the served branch: an exchange with its remote and its forge
events.py          events of webhooks
exchange_queue.py  exchanges with the remote that webhooks request
receiver.py        the routes, which authenticate each webhook and apply it once
signatures.py      the signatures of the forges
"""
