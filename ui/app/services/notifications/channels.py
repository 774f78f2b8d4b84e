"""Channels: sends a message as a signed webhook, to a Slack-compatible webhook, or by e-mail."""

from __future__ import annotations

import functools
import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import aiosmtplib
import httpx
from standardwebhooks import Webhook

from engine import InvalidInput
from ui.app.network import environment_proxies, network_problem
from ui.app.services.notifications.destinations import Destination
from ui.app.services.notifications.outbox import OutboxMessage

SECONDS = 15.0
"""Timeout for a receiver's response, in seconds (Standard Webhooks: 15 to 30 s)."""
GONE = 410
"""The status with which a receiver unsubscribes."""
MAX_TEXT = 300
PORTS = {'smtp': 587, 'smtps': 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one attempt."""

    status: int = 0
    error: str = ''
    gone: bool = False
    """Whether the receiver has unsubscribed."""
    wait: float = 0.0
    """Seconds to wait, as requested by the receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The SMTP server that sends e-mail."""

    host: str
    port: int
    user: str = ''
    password: str = ''
    tls: bool = False
    """Whether the connection starts with TLS; otherwise STARTTLS is used if offered."""
    sender: str = ''

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> MailServer | None:
        """`HEMICYCLE_SMTP` (smtp://user:password@host:port or smtps://), `HEMICYCLE_MAIL_FROM`; or None.

        Raises:
            InvalidInput: the address is not valid.
        """
        text = environment.get('HEMICYCLE_SMTP', '').strip()
        if not text:
            return None
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(''), None
        if parts.scheme not in PORTS or not parts.hostname:
            raise InvalidInput(
                {'HEMICYCLE_SMTP': 'must be smtp://[user:password@]host[:port] or smtps://...'}
            )
        sender = environment.get('HEMICYCLE_MAIL_FROM', '').strip() or f'hemicycle@{parts.hostname}'
        return cls(
            host=parts.hostname,
            port=port or PORTS[parts.scheme],
            user=unquote(parts.username or ''),
            password=unquote(parts.password or ''),
            tls=parts.scheme == 'smtps',
            sender=sender,
        )

    @property
    def connection(self) -> dict[str, Any]:
        """The arguments for `aiosmtplib`."""
        return {
            'hostname': self.host,
            'port': self.port,
            'username': self.user or None,
            'password': self.password or None,
            'use_tls': self.tls,
            'timeout': SECONDS,
        }

    async def problem(self) -> str:
        """Return why it does not accept e-mail from here, or ''. Nothing is sent."""
        try:
            async with aiosmtplib.SMTP(**self.connection) as client:
                await client.noop()
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            return network_problem(error)[:MAX_TEXT]
        return ''


class Channels:
    """Sends messages; owns the connections."""

    def __init__(
        self, mail: MailServer | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """`transport` replaces the network for HTTP requests."""
        self._mail, self._transport = mail, transport

    @functools.cached_property
    def _http(self) -> httpx.AsyncClient:
        """The HTTP client, created for the first message because it loads all system certificates."""
        with environment_proxies():
            return httpx.AsyncClient(
                timeout=SECONDS,
                follow_redirects=False,
                transport=self._transport,
                headers={'User-Agent': 'Hemicycle'},
            )

    async def close(self) -> None:
        """Close the HTTP client, if one was needed."""
        if '_http' in vars(self):
            await self._http.aclose()

    async def send(self, destination: Destination, message: OutboxMessage, now: float) -> Result:
        """Make one attempt; `now` is in seconds since 1970. Never raises."""
        try:
            if destination.channel == 'email':
                return await self._send_mail(destination, message, now)
            return await self._post(destination, message, now)
        except aiosmtplib.SMTPResponseException as error:
            return Result(status=error.code, error=f'answered {error.code} {error.message}'[:MAX_TEXT])
        except (httpx.HTTPError, aiosmtplib.SMTPException, OSError, ValueError) as error:
            return Result(error=network_problem(error)[:MAX_TEXT])

    async def _post(self, destination: Destination, message: OutboxMessage, now: float) -> Result:
        headers = {'Content-Type': 'application/json'}
        if destination.channel == 'slack':
            body = json.dumps(slack_body(message))
        else:
            body = json.dumps(dict(message.payload), separators=(',', ':'))
            moment = datetime.fromtimestamp(int(now), UTC)
            headers |= {
                'webhook-id': message.id,
                'webhook-timestamp': str(int(now)),
                'webhook-signature': Webhook(destination.secret).sign(message.id, moment, body),
            }
        answer = await self._http.post(destination.address, content=body.encode(), headers=headers)
        if answer.is_success:
            return Result(status=answer.status_code)
        return Result(
            status=answer.status_code,
            error=f'answered {answer.status_code} {answer.reason_phrase}'.strip(),
            gone=answer.status_code == GONE,
            wait=_seconds(answer.headers.get('retry-after', '')),
        )

    async def _send_mail(self, destination: Destination, message: OutboxMessage, now: float) -> Result:
        if self._mail is None:
            return Result(error='no SMTP server is configured: set HEMICYCLE_SMTP')
        mail = self._mail
        mail_message = mail_of(message, mail.sender, destination.address, now)
        await aiosmtplib.send(mail_message, **mail.connection)
        return Result(status=250)


def slack_body(message: OutboxMessage) -> dict[str, str]:
    """Return the body for a Slack-compatible incoming webhook: one text, with models' markup escaped."""
    title, text = (html.escape(part, quote=False) for part in (message.title, message.text))
    url = str(message.payload.get('data', {}).get('url', ''))
    # A line break would end the link's text, and a vertical bar its URL.
    named = f'<{url.replace("|", "%7C")}|{" ".join(title.replace("|", "/").split())}>' if url else title
    return {'text': f'*{named}*\n{text}'}


def mail_of(message: OutboxMessage, sender: str, to: str, now: float) -> EmailMessage:
    """Return the e-mail; no run title can inject a header."""
    mail = EmailMessage(policy=SMTP)
    mail['From'], mail['To'] = sender, to
    mail['Subject'] = ' '.join(f'{message.text}: {message.title}'.split())[:MAX_TEXT]
    mail['Date'] = format_datetime(datetime.fromtimestamp(now, UTC))
    mail['Message-ID'] = f'<{message.id}@hemicycle>'
    mail['Auto-Submitted'] = 'auto-generated'
    url = str(message.payload.get('data', {}).get('url', ''))
    mail.set_content(f'{message.text}\n\n{message.title}\n{url}\n')
    return mail


def _seconds(text: str) -> float:
    try:
        return min(max(0.0, float(text)), 86_400.0)
    except ValueError:
        return 0.0
