"""HTTP requests that go to the address they were made for, and to no other.

A request carries a token, a signature or the question of an auditor. Whoever answers it must not be able to send it
on, by a redirection, to a machine of their choice or to one that only this machine can reach.
"""

import urllib.request
from http.client import HTTPResponse


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Redirections are answers, with a status that is an error."""


def send_request(request: urllib.request.Request, seconds: float) -> HTTPResponse:
    """The answer to a request, with at most so many seconds between two pieces of it; raises what `urlopen` raises."""
    answer: HTTPResponse = urllib.request.build_opener(_NoRedirects).open(request, timeout=seconds)
    return answer
