"""The shipped configuration of nginx, run for real in front of a service, with TLS, on this machine alone."""

import datetime
import ipaddress
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from service.serving import PATIENCE, free_port, wait_until

SHIPPED: Final = Path(__file__).parents[2] / "deploy" / "nginx"
PROGRAM: Final = "nginx"
REMEDY: Final = "apt-get install nginx-light"
HOST: Final = "localhost"


def installed() -> str:
    """The path of nginx. Without it no test of the proxy runs; with CI=true that fails."""
    found = shutil.which(PROGRAM, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found:
        return found
    message = f"THE TESTS OF THE PROXY DID NOT RUN: no {PROGRAM} is here; get it by `{REMEDY}`"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def make_certificate(folder: Path, days: int = 30) -> tuple[Path, Path]:
    """A certificate for this machine that it has signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


@dataclass(frozen=True)
class Proxy:
    """A running nginx."""

    address: str
    plain_port: int
    port: int
    told_port: int
    """A port on which whoever connects says first whose address it has, as a balancer in front would."""
    certificate: Path
    log: Path
    process: int

    def files(self) -> list[str]:
        """The files for bodies and answers that nginx has open; it takes their names away at once."""
        descriptors = [Path(f"/proc/{worker.pid}/fd") for worker in psutil.Process(self.process).children()]
        opened = [str(file.readlink()) for folder in descriptors for file in folder.iterdir()]
        return [name for name in opened if name.startswith(str(self.log.parent / "body"))]

    def connect(self, sender: str | None = None, name: str = HOST) -> ssl.SSLSocket:
        """A new connection with TLS; from any address, if one is given."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        line = socket.create_connection(("127.0.0.1", self.port if sender is None else self.told_port), PATIENCE)
        if sender is not None:
            family, here = ("TCP6", "::1") if ":" in sender else ("TCP4", "127.0.0.1")
            line.sendall(f"PROXY {family} {sender} {here} 40000 {self.told_port}\r\n".encode())
        return context.wrap_socket(line, server_hostname=name)


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """A text with other words in the place of some, each of which it must have."""
    for old, new in changes.items():
        assert old in text, f"{old!r} is not in the configuration any more"
        text = text.replace(old, new)
    return text


def settle(folder: Path, service_port: int, changes: Mapping[str, str]) -> tuple[Path, dict[str, int]]:
    """Write the shipped configuration with the paths and ports of this machine, and with some changes."""
    public, private = make_certificate(folder)
    ports = {name: free_port() for name in ("plain", "tls", "told")}
    for name in ("http.conf", "server.conf"):
        text = (SHIPPED / name).read_text("utf-8")
        text = replaced(text, {old: new for old, new in changes.items() if old in text})
        (folder / name).write_text(text, "utf-8")
    listening = (
        f"listen 127.0.0.1:{ports['tls']} ssl;\n"
        f"        listen 127.0.0.1:{ports['told']} ssl proxy_protocol;\n"
        "        set_real_ip_from 127.0.0.1;\n"
        "        real_ip_header proxy_protocol;"
    )
    text = replaced(
        (SHIPPED / "container.conf").read_text("utf-8"),
        {
            " /tmp/": f" {folder}/",
            "/etc/nginx/neologue/": f"{folder}/",
            "neologue:8080": f"127.0.0.1:{service_port}",
            "listen 8443 ssl default_server;": f"listen 127.0.0.1:{ports['tls']} ssl default_server;",
            "listen 8443 ssl;": listening,
            "listen 8080;": f"listen 127.0.0.1:{ports['plain']};",
            "words.example.org": HOST,
            "/run/secrets/certificate": str(public),
            "/run/secrets/private_key": str(private),
            "worker_processes auto;": "worker_processes 1;",
        },
    )
    (folder / "nginx.conf").write_text(text, "utf-8")
    return folder / "nginx.conf", ports


@contextmanager
def proxied(folder: Path, service_port: int, changes: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """nginx as it is shipped, with its ports on this machine, in front of a service."""
    configuration, ports = settle(folder, service_port, changes or {})
    # As root nginx would hand its work to another user, who has no access to a folder of the tests.
    more = ("-g", "user root;") if os.geteuid() == 0 else ()
    command = (installed(), "-e", "stderr", "-p", str(folder), "-c", str(configuration), *more)
    log = folder / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written)
    try:

        def is_listening() -> bool:
            assert process.poll() is None, log.read_text()
            with socket.socket() as line:
                return line.connect_ex(("127.0.0.1", ports["tls"])) == 0

        wait_until(is_listening)
        yield Proxy(
            f"https://{HOST}:{ports['tls']}",
            ports["plain"],
            ports["tls"],
            ports["told"],
            folder / "certificate.pem",
            log,
            process.pid,
        )
    finally:
        process.terminate()
        process.wait(PATIENCE)
