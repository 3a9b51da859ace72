"""Files from the network, whole or not at all."""

from __future__ import annotations

import http
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


def download_file(address: str, path: Path, *, pause: float = 1.0) -> None:
    """Download a file and append it to `path`; a transfer that breaks is tried again from the beginning.

    pause: seconds before the second try, twice as many before the third.
    """
    start = path.stat().st_size if path.exists() else 0
    for attempt in range(1, TRIES + 1):
        with path.open("ab") as out:
            out.truncate(start)
            try:
                _download_once(address, out)
            except urllib.error.HTTPError as error:
                # Only what may pass by itself is tried again: a busy server, or one that we asked too often.
                if (error.code < 500 and error.code != http.HTTPStatus.TOO_MANY_REQUESTS) or attempt == TRIES:
                    raise FetchError(f"{address}: the server answered {error.code} {error.reason}.") from error
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES:
                    raise FetchError(f"{address}: {_word_broken_connection(error)}.") from error
            else:
                return
        time.sleep(pause * attempt)


def _download_once(address: str, out: IO[bytes]) -> None:
    if not address.startswith(("http://", "https://")):
        raise FetchError(f"{address}: not an http address.")
    request = urllib.request.Request(address, headers={"User-Agent": "stablerule"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length and length.isdecimal() else None
        done = 0
        with progress_bar(address.rsplit("/", 1)[-1], total, unit="bytes") as advance:
            while chunk := answer.read(CHUNK):
                _write_download_chunk(chunk, out, address)
                done += len(chunk)
                advance(len(chunk))
        # A connection that is cut looks like the end of the file, unless one counts.
        if total is not None and done != total:
            raise http.client.IncompleteRead(b"", total - done)


def _write_download_chunk(chunk: bytes, out: IO[bytes], address: str) -> None:
    """Write at once, so that a full disk shows here and not as a broken connection."""
    try:
        out.write(chunk)
        out.flush()
    except OSError as error:
        raise FetchError(f"{address}: can't be kept: {error.strerror or error}.") from error


def _word_broken_connection(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the transfer broke off, {error.expected:,} bytes are missing"
    return f"no connection ({getattr(error, 'reason', None) or error})"
