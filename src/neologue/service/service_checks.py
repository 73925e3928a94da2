"""Checks of a running service: the way to it, and what its process may do."""

import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from neologue.one_address import send_request
from neologue.service.api.deployment_api import DeploymentView
from neologue.service.finding import Finding, Verdict
from neologue.service.ops.confinement import Confinement
from neologue.service.ops.settings import Settings

SECONDS_OFF = 60
PATIENCE = 10
DAYS_LEFT = 14


def check_confinement(may: Confinement, whose: str) -> Iterator[Finding]:
    """Check what a process may do; reports are in memory, so whatever writes memory to a disk writes reports."""
    dangers = {
        f"a crash of {whose} may write memory to a core file: ulimit -c 0 (LimitCORE=0 in systemd)": may.core_files,
        f"the memory of {whose} may be swapped to a disk: MemorySwapMax=0, swapoff -a, or encrypt the swap": may.swap,
        f"{whose} runs as root: give it a user of its own": may.root_user,
        f"{whose} has capabilities, and needs none: CapabilityBoundingSet= in systemd, cap_drop": may.capabilities,
        f"{whose} may gain privileges: NoNewPrivileges=yes in systemd, no-new-privileges": may.new_privileges,
        f"the root file system of {whose} is writable: ProtectSystem=strict in systemd, read_only": may.writable_root,
    }
    found = [Finding("doubtful", danger) for danger, present in dangers.items() if present]
    yield from found
    if None in dangers.values():
        yield Finding("doubtful", f"this system does not tell everything that {whose} may do")
    elif not found:
        yield Finding(
            "good", f"{whose} is confined: no root, no capabilities, a read-only root, no core files, no swap"
        )


def check_service(server: str, token: str | None) -> Iterator[Finding]:
    """Check the service at an address; with an operator's token, its process too."""
    url = urlsplit(server)
    secret = url.scheme == "https" or is_here(url.hostname or "")
    if url.scheme == "https":
        yield Finding("good", "devices talk to the service over TLS")
    elif secret:
        yield Finding("doubtful", f"{server} is without TLS: fine behind a proxy on this machine, and nowhere else")
    else:
        yield Finding("unsafe", f"{server} is without TLS: anybody on the way can change what devices are told")
    try:
        with _ask(server, "/readyz") as answer:
            date = answer.headers.get("Date")
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield Finding("unsafe", f"{server} is not ready ({_reason(error)}): start it, or look into its log")
        return
    yield Finding("good", f"{server} is ready")
    if date and abs(parsedate_to_datetime(date).timestamp() - time.time()) > SECONDS_OFF:
        yield Finding("doubtful", "the clocks of the service and of this machine differ by more than a minute")
    if url.scheme == "https":
        yield from _certificate(url.hostname or "", url.port or 443)
    if not token or not secret:
        yield Finding(
            "doubtful", "the process of the service was not examined: give an operator's token, NEOLOGUE_TOKEN"
        )
        return
    try:
        with _ask(server, "/v1/deployment", token) as answer:
            deployment = msgspec.json.decode(answer.read(), type=DeploymentView)
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield Finding(
            "unsafe", f"{server} does not say how it is deployed ({_reason(error)}): is the token an operator's?"
        )
        return
    yield from _way(url.scheme, is_here(url.hostname or ""), deployment)
    yield from _connections(deployment.connections)
    yield from check_confinement(deployment.confinement, "the service")


def _way(scheme: str, here: bool, told: DeploymentView) -> Iterator[Finding]:
    """Check that the service knows how many proxies there are, and that TLS ends at the outermost."""
    if here and scheme == "http" and told.proxies and not told.forwarded:
        yield Finding(
            "doubtful", "the service was asked behind its proxies: give --server the address that devices have"
        )
        return
    if told.forwarded > told.proxies:
        yield Finding(
            "unsafe",
            f"a request comes through {told.forwarded} proxies and the service was told {told.proxies}, so all devices "
            f"are one address to it: serve --proxies {told.forwarded}",
        )
    elif told.forwarded < told.proxies:
        yield Finding(
            "unsafe",
            f"a request comes through {told.forwarded} proxies and the service was told {told.proxies}, so anybody "
            f"can forge an address: serve --proxies {told.forwarded}, or let each proxy append to X-Forwarded-For",
        )
    else:
        yield Finding("good", f"the service knows how many proxies a request comes through: {told.proxies}")
    if scheme == "https" and not told.https:
        yield Finding(
            "unsafe",
            "the service does not see that it is asked over TLS, so its cookies may travel without: let the proxy set "
            "X-Forwarded-Proto, and give serve --proxies",
        )


def _connections(most: int) -> Iterator[Finding]:
    wanted = Settings.connections
    if most < wanted:
        yield Finding(
            "doubtful",
            f"a worker takes {most:,} connections and not {wanted:,}: raise the limit on open files (LimitNOFILE in "
            "systemd, ulimits.nofile), unless --connections says so",
        )
    else:
        yield Finding("good", f"a worker takes {most:,} connections, and has the file descriptors for them")


def _certificate(host: str, port: int) -> Iterator[Finding]:
    """Check that the certificate lasts; that it is valid was a condition for being answered."""
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((host, port), PATIENCE) as line,
            context.wrap_socket(line, server_hostname=host) as wrapped,
        ):
            ends = ssl.cert_time_to_seconds(str((wrapped.getpeercert() or {})["notAfter"]))
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        yield Finding("unsafe", f"the certificate of {host} can't be checked ({_reason(error)})")
        return
    days = (ends - time.time()) / 86_400
    verdict: Verdict = "good" if days >= DAYS_LEFT else "doubtful"
    yield Finding(
        verdict,
        f"the certificate of {host} is valid for {days:,.0f} more days{'' if days >= DAYS_LEFT else ': renew it'}",
    )


def _ask(server: str, path: str, token: str | None = None) -> "http.client.HTTPResponse":
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{server.rstrip('/')}{path}", headers=headers)
    try:
        return send_request(request, PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        raise


def _reason(error: Exception) -> object:
    return error.code if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)


def is_here(host: str) -> bool:
    """Whether a host is this machine, without the network."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
