"""Secrets that sign webhooks, those that are sent and those that arrive (Standard Webhooks)."""

from __future__ import annotations

import base64
import secrets

from standardwebhooks import Webhook


def new_signing_secret() -> str:
    """Return a random secret to sign messages with: `whsec_` and 24 bytes in base64 (Standard Webhooks)."""
    return f'whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}'


def secret_problem(secret: str) -> str:
    """Return why webhooks cannot be signed with a secret, or ''. An empty secret requests a new one."""
    try:
        if secret:
            Webhook(secret)
    except Exception as error:  # the library has no common base class for its errors
        return f'must be whsec_ and base64: {error}'
    return ''
