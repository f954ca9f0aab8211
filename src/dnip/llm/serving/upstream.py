"""The server behind the sidecar: how requests are passed on, and what can go wrong on the way."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from urllib.parse import unquote, urlsplit

import aiohttp
from yarl import URL

from dnip.base.validation import check_number, check_url

#: Headers that are of one connection or of one message, and are not passed on.
_OWN = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade content-length host expect".split()
)
# aiohttp adds these where they are missing; what the client left out stays out.
_NOT_ADDED = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")

# Shorter than servers keep idle connections (uvicorn: 5 s), so that none is used as it closes.
_IDLE_SECONDS = 2.0

# Parts of a path that servers and proxies take out in ways of their own.
_DOTS = frozenset({".", ".."})

# How long a check of the upstream may take.
_CHECK_SECONDS = 1.0


class FailedError(Exception):
    """A request that the sidecar answers itself, by an error.

    Parameters
    ----------
    status : int
        The HTTP status.
    message : str
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Upstream:
    """The server behind the sidecar.

    Redirects are not followed and cookies not kept, so a key goes to this host alone.

    Parameters
    ----------
    url : str
        Its address; it may end in a path such as ``/v1``.
    timeout : float
        Seconds until an answer begins, and between two parts of it.

    Raises
    ------
    InvalidInputError
        For a URL that is not one, or one with a password or a query.

    Examples
    --------
    >>> Upstream("http://127.0.0.1:8000/v1", 60).address("/v1/systemone", "a=1")
    URL('http://127.0.0.1:8000/v1/systemone?a=1')
    """

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(check_url("upstream", url))
        self.timeout = check_number("timeout", timeout, above=0)
        self._origin, self._path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Keep connections for as long as the block runs."""
        times = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=self.timeout)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=times,
            skip_auto_headers=_NOT_ADDED,
        ) as self._session:
            yield

    async def is_there(self) -> bool:
        """Tell whether the upstream takes a connection; nothing is sent."""
        url = URL(self._origin)
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                _, writer = await asyncio.open_connection(url.host, url.port)
        except OSError:
            return False
        writer.close()
        return True

    def address(self, path: str, query: str) -> URL:
        """Return where a request goes: the path follows the upstream's, which is not repeated.

        Raises
        ------
        FailedError
            400 for what is not a path, or leads out of itself.
        """
        if not path.startswith("/"):
            raise FailedError(400, "the address of a request must be a path")
        if not _DOTS.isdisjoint(unquote(path).replace("\\", "/").split("/")):
            raise FailedError(400, "the path of a request must not hold . or ..")
        if not f"{path}/".startswith(f"{self._path}/"):
            path = self._path + path
        return URL(f"{self._origin}{path}{'?' if query else ''}{query}", encoded=True)

    async def send(
        self,
        method: str,
        url: URL,
        headers: list[tuple[str, str]],
        body: bytes,
        *,
        unpack: bool = False,
    ) -> aiohttp.ClientResponse:
        """Send a request, and return the answer before its content is read.

        Content that is packed comes as it is, or unpacked.

        Raises
        ------
        FailedError
            502 if there is no answer or none of HTTP, or it is a redirect; 504 if it takes too
            long.
        """
        assert self._session is not None
        ask = partial(
            self._session.request,
            method,
            url,
            headers=headers,
            data=body or None,
            allow_redirects=False,
            auto_decompress=unpack,
        )
        with _failures(self.timeout):
            try:
                response = await ask()
            except aiohttp.ClientConnectionResetError:  # closed before anything was sent
                response = await ask()
        if not 200 <= response.status < 600:
            response.close()
            raise FailedError(502, f"the upstream answers with the status {response.status}")
        if response.status in (301, 302, 303, 307, 308):
            response.close()
            target = urlsplit(response.headers.get("Location", ""))
            where = f"{target.scheme}://{target.hostname}" if target.hostname else "another path"
            raise FailedError(
                502,
                f"the upstream redirects to {where} (status {response.status}), which is not "
                "followed; give the sidecar the address where it ends",
            )
        return response


@contextmanager
def _failures(timeout: float) -> Iterator[None]:
    """Turn failures of the connection into answers."""
    try:
        yield
    except TimeoutError:
        raise FailedError(504, f"the upstream does not answer within {timeout:g} s") from None
    except aiohttp.ClientConnectorError as error:
        if error.os_error.errno == errno.EMFILE:
            raise FailedError(
                503, "this process has no sockets left; raise its limit of open files"
            ) from None
        raise FailedError(502, "the upstream cannot be reached; is it running?") from None
    except (aiohttp.ClientError, ConnectionError) as error:
        name = type(error).__name__
        raise FailedError(502, f"the connection to the upstream was lost ({name})") from None


async def read_whole(response: aiohttp.ClientResponse, most: int, timeout: float) -> bytes:
    """Return the content of an answer.

    Raises
    ------
    FailedError
        502 if it is longer than `most` bytes, breaks off or is damaged; 504 if it takes too long.
    """
    content = bytearray()
    with _failures(timeout):
        async with asyncio.timeout(timeout), response:
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > most:
                    response.close()
                    raise FailedError(502, f"the upstream's answer is longer than {most:,} bytes")
    return bytes(content)


def passed_on(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a message that a proxy passes on, names in lower case.

    Examples
    --------
    >>> passed_on([(b"Authorization", b"Bearer k"), (b"Connection", b"close")])
    [(b'authorization', b'Bearer k')]
    """
    lowered = [(name.lower(), value) for name, value in headers]
    named = b",".join(value for name, value in lowered if name == b"connection")
    left_out = _OWN.union(map(bytes.strip, named.lower().split(b","))) if named else _OWN
    return [(name, value) for name, value in lowered if name not in left_out]
