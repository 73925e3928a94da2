"""What lists of words in pages have in common."""

import re
from typing import Final

from starlette.datastructures import QueryParams

WORDS_PER_PAGE: Final = 50
SEARCH_LENGTH: Final = 100
"""The most characters of a search that are used."""


def page_number(query: QueryParams) -> int:
    """The page that an address asks for, from 1; the first if it makes no sense."""
    number = query.get("page", "1")
    return int(number) if re.fullmatch("[1-9][0-9]{0,5}", number, re.ASCII) else 1
