"""The limits of a server: rates by principal, organization and namespace, and calls in flight.

addresses.py      the limit of requests by address, before their authentication
buckets.py        token buckets in bounded memory, charged together or not at all
in_flight.py      the numbers of running calls
limiter.py        the limits of the settings, applied to calls of tools
observer.py       the observer of calls that applies limits, and passes calls to other observers
shared_levels.py  the levels of buckets in a file that all workers share
"""
