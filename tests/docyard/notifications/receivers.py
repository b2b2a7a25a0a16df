"""A real HTTP server that receives webhooks, and a real SMTP server that receives e-mail."""

from __future__ import annotations

import datetime
import ipaddress
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class ReceivedRequest(NamedTuple):
    """A request: its path, its headers with names in lower case, and its body."""

    path: str
    headers: dict[str, str]
    body: bytes


class WebhookReceiver:
    """An HTTP server. `answer` is called with each request's handler; by default it responds with 204."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[ReceivedRequest] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = respond(204)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append(ReceivedRequest(self.path, headers, body))
                receiver.answer(self)

            do_GET = do_POST

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}/hook?a=b"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def respond(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


def respond_forever(handler: BaseHTTPRequestHandler) -> None:
    """Respond with a success, and then with a body without an end."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * 65_536)


def respond_slowly(handler: BaseHTTPRequestHandler) -> None:
    """Send single bytes of a header without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(600):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


class MailReceiver:
    """An SMTP server. `replies` replace its replies by command, such as `{"RCPT": "550 unknown"}`.

    With `tls` it offers STARTTLS. `commands` are the received lines outside of messages.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.messages: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.commands: list[str] = []
        self.replies: dict[str, str] = {}
        receiver = self

        class Handler(socketserver.StreamRequestHandler):
            def reply(self, text: str) -> None:
                self.wfile.write(text.encode() + b"\r\n")

            def handle(self) -> None:
                self.reply(receiver.replies.get("greeting", "220 mail.example.org"))
                is_encrypted = False
                while line := self.rfile.readline().decode().rstrip("\r\n"):
                    receiver.commands.append(line)
                    command = line[:4].upper()
                    if command in receiver.replies:
                        self.reply(receiver.replies[command])
                    elif command == "EHLO":
                        offers = "" if tls is None or is_encrypted else "250-STARTTLS\r\n"
                        self.reply(f"250-mail.example.org\r\n{offers}250 AUTH PLAIN")
                    elif command == "STAR" and tls is not None:
                        self.reply("220 go ahead")
                        self.connection = tls.wrap_socket(self.connection, server_side=True)
                        self.setup_files()
                        is_encrypted = True
                    elif command == "AUTH":
                        self.reply("235 welcome")
                    elif command == "RCPT":
                        receiver.recipients.append(line.partition("<")[2].partition(">")[0])
                        self.reply("250 ok")
                    elif command == "DATA":
                        self.reply("354 go ahead")
                        receiver.messages.append(self.read_message())
                        self.reply("250 queued")
                    elif command == "QUIT":
                        self.reply("221 bye")
                        return
                    else:
                        self.reply("250 ok")

            def setup_files(self) -> None:
                self.rfile = self.connection.makefile("rb")
                self.wfile = self.connection.makefile("wb", buffering=0)

            def read_message(self) -> EmailMessage:
                lines = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(line.removeprefix(b"."))
                message = message_from_bytes(b"".join(lines), policy=default)
                assert isinstance(message, EmailMessage)
                return message

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def run_webhook_receiver(tls: ssl.SSLContext | None = None) -> Iterator[WebhookReceiver]:
    receiver = WebhookReceiver(tls)
    try:
        yield receiver
    finally:
        receiver.close()


@contextmanager
def run_mail_receiver(tls: ssl.SSLContext | None = None) -> Iterator[MailReceiver]:
    receiver = MailReceiver(tls)
    try:
        yield receiver
    finally:
        receiver.close()


def create_tls(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server at 127.0.0.1 with a new certificate, and of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate_file, key_file)
    return server, ssl.create_default_context(cafile=str(certificate_file))
