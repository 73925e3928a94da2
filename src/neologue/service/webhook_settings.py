"""The webhook of a service, as its settings name it."""

from collections.abc import Callable
from pathlib import Path

from neologue.service.campaigns.webhook import Webhook, check_webhook
from neologue.service.ops.concurrency import RepeatedStep, Threads
from neologue.service.ops.settings import Settings
from neologue.service.storage.database import Database

PAUSE = 2.0
"""How often the webhook is told of what is new, in seconds."""


def read_secret(settings: Settings) -> bytes:
    """The secret that signs what the webhook is told; empty without one."""
    if settings.webhook is None or settings.webhook_secret is None:
        return b""
    secret = Path(settings.webhook_secret).read_bytes().strip()
    check_webhook(settings.webhook, secret)
    return secret


def webhook_steps(
    settings: Settings, database: Database, clock: Callable[[], float], threads: Threads
) -> list[RepeatedStep]:
    """The step that tells the webhook what is new, if there is a webhook."""
    secret = read_secret(settings)
    if not settings.webhook or not secret:
        return []
    webhook = Webhook(database, settings.webhook, secret, clock)

    async def tell() -> None:
        while await threads.run(webhook.deliver):
            pass

    return [RepeatedStep("telling the webhook", tell, PAUSE)]
