"""The limits of a server: rates by principal, organization and namespace, and work in flight."""
