"""Tables of a page that have a column for each product: what the cells of one say."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
_HEAD = re.compile(r'<!--\s*npu="([^"]*)"[^>]*-->\s*<th>')
_ROW = re.compile(r'<th scope="row">(.*?)</th>(.*?)</tr>', re.DOTALL)
_CELL = re.compile(r'<td(?:\s+colspan="(\d+)")?[^>]*>(.*?)</td>', re.DOTALL)


def column(page: str, product: str) -> Iterator[str]:
    """The cells of a product's column, each after the name of its row."""
    for table in _TABLE.findall(page):
        places = [place for place, products in enumerate(_HEAD.findall(table)) if product in products.split(",")]
        for row, rest in _ROW.findall(table) if places else ():
            at = 0
            for span, cell in _CELL.findall(rest):
                if at <= places[0] < at + int(span or 1):
                    yield f"{row}。{cell}"
                at += int(span or 1)
