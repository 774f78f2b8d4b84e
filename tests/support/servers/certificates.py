"""Certificates of a test authority, for servers on 127.0.0.1 and their clients."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PASSWORD = 'correct horse'
"""Of the client's key."""


def write_certificates(folder: Path) -> Path:
    """Write `ca.pem`; and, signed by it, `server.pem` with its key, and `client.pem` with `client.key`."""
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'Test authority')])

    def sign(name: str, key: ec.EllipticCurvePrivateKey) -> bytes:
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject if key is not authority else issuer)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=key is authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False
            )
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]),
                critical=False,
            )
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    key_cert_sign=key is authority,
                    crl_sign=key is authority,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .sign(authority, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)

    def private(key: ec.EllipticCurvePrivateKey, password: str = '') -> bytes:
        how: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            how = serialization.BestAvailableEncryption(password.encode())
        form = serialization.PrivateFormat.PKCS8
        return key.private_bytes(serialization.Encoding.PEM, form, how)

    server, client = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    (folder / 'ca.pem').write_bytes(sign('Test authority', authority))
    (folder / 'server.pem').write_bytes(sign('server', server) + private(server))
    (folder / 'client.pem').write_bytes(sign('client', client))
    (folder / 'client.key').write_bytes(private(client, PASSWORD))
    return folder
