"""The identities of callers: tokens, OAuth, sign-in, and the rules of groups. Boundary of `jwt`.

access_tokens.py    the access tokens in the database of a server
identity.py         the identity provider of a server, built from its settings
provider.py         the metadata and the keys of an identity provider, cached
resource_server.py  the verifier of access tokens of a provider (OAuth 2.1, RFC 9068)
rules.py            the role of a caller in a namespace, by the rules of groups
sign_in.py          the sign-in of people (OpenID Connect)
signed_tokens.py    signature, issuer, audience and times of signed tokens
users.py            the users of a provider, and the people among them
verifier.py         the protocol of verifiers, and what they return
"""
