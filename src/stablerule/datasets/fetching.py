"""Files from the network, whole or not at all."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from typing import IO, TYPE_CHECKING

from stablerule.errors import FetchError
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

TRIES = 3
SECONDS = 30
CHUNK = 1 << 16


def fetch(address: str, path: Path, *, pause: float = 1.0) -> None:
    """Download a file and append it to `path`; a transfer that breaks is tried again from the beginning.

    pause: seconds before the second try, twice as many before the third.
    """
    start = path.stat().st_size if path.exists() else 0
    for attempt in range(1, TRIES + 1):
        with path.open("ab") as out:
            out.truncate(start)
            try:
                _transfer(address, out)
            except urllib.error.HTTPError as error:
                if error.code < 500 or attempt == TRIES:
                    raise FetchError(f"{address}: the server answered {error.code} {error.reason}.") from error
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES:
                    raise FetchError(f"{address}: {_reason(error)}.") from error
            else:
                return
        time.sleep(pause * attempt)


def _transfer(address: str, out: IO[bytes]) -> None:
    if not address.startswith(("http://", "https://")):
        raise FetchError(f"{address}: not an http address.")
    request = urllib.request.Request(address, headers={"User-Agent": "stablerule"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        done = 0
        with progress_bar(address.rsplit("/", 1)[-1], total, unit="bytes") as advance:
            while chunk := answer.read(CHUNK):
                out.write(chunk)
                done += len(chunk)
                advance(len(chunk))
        # A connection that is cut looks like the end of the file, unless one counts.
        if total is not None and done != total:
            raise http.client.IncompleteRead(b"", total - done)


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the transfer broke off, {error.expected:,} bytes are missing"
    return f"no connection ({getattr(error, 'reason', None) or error})"
