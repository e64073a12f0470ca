"""The soak's requests and their required answers; and one connection that sends requests and checks the answers."""

import errno
import json
import os
import socket
import time
from dataclasses import dataclass

PATIENCE = int(os.environ.get('WEFT_SOAK_TIMEOUT', 60))  # seconds that an answer may take; a later one counts as lost


class Wrong(Exception):
    """A fault of the server, in one line."""


@dataclass(frozen=True)
class Exchange:
    """One request, or several sent together, and their answers in order."""
    name: str
    request: bytes
    answers: tuple  # of (status, check of the body)
    headOnly: bool = False
    closes: bool = False  # the connection ends after it


def asks(target, method='GET', headers='', body=b''):
    return f'{method} {target} HTTP/1.1\r\nHost: soak\r\n{headers}\r\n'.encode() + body


def equals(expected):
    return lambda body: body == expected


def countsCarriers(body):
    try:
        return len(json.loads(body)['carriers']) > 0
    except (ValueError, KeyError, TypeError):
        return False


HELLO = (200, equals(b'Hello, World!'))
PLAINTEXT = Exchange('plaintext', asks('/plaintext'), (HELLO,))


def echo(size):
    body = bytes(33 + i % 90 for i in range(size))
    return Exchange(f'echo of {size} bytes', asks('/echo', 'POST', f'Content-Length: {size}\r\n', body), ((200, equals(body)),))


def mixture(fruits):
    """One round of requests, with each route of the server in proportion. `fruits` is the backend's content."""
    fiber = Exchange('fiber', asks('/fiber'), (HELLO,))
    sleep = Exchange('sleep', asks('/sleep?ms=1'), ((200, equals(b'slept 1 ms\n')),))
    return (24 * [PLAINTEXT] + 24 * [fiber] + 20 * [sleep] + 8 * [echo(100)] + 4 * [echo(20_000)]
            + 8 * [Exchange('four in one piece', 4 * asks('/plaintext'), 4 * (HELLO,))]
            + 4 * [Exchange('fruits', asks('/fruits'), ((200, equals(fruits)),))]
            + 2 * [Exchange('no such thing', asks('/nothing'), ((404, equals(b'404 Not Found\n')),))]
            + 2 * [Exchange('head only', asks('/plaintext', 'HEAD'), ((200, equals(b'')),), headOnly=True)]
            + 2 * [Exchange('stats', asks('/stats'), ((200, countsCarriers),))]
            + 2 * [Exchange('the last one', asks('/fiber', headers='Connection: close\r\n'), (HELLO,), closes=True)])


class Client:
    """A connection with at most one exchange in progress."""

    def __init__(self, address):
        try:
            self.socket = socket.create_connection(address, timeout=PATIENCE)
        except OSError as error:
            raise Wrong(f'cannot connect: {error}') from None
        self.exchange = None
        self.began = 0.0
        self.awaited = ()
        self.received = b''

    def begin(self, exchange):
        self.exchange, self.awaited, self.began = exchange, exchange.answers, time.monotonic()
        try:
            sent = self.socket.send(exchange.request)
        except OSError as error:
            raise Wrong(f'{exchange.name}: cannot send: {error}') from None
        if sent != len(exchange.request):
            raise Wrong(f'{exchange.name}: the kernel takes {sent} bytes of {len(exchange.request)}, with nothing under way')

    def receive(self):
        """Receives what has arrived; true when that completes the exchange."""
        name = self.exchange.name if self.exchange else 'an idle connection'
        try:
            piece = self.socket.recv(1 << 16)
        except OSError as error:
            raise Wrong(f'{name}: {errno.errorcode.get(error.errno, error)}') from None
        if not piece:
            return self.end(name)
        if not self.awaited:
            raise Wrong(f'{name}: bytes that nobody asked for: {piece[:80]!r}')
        self.received += piece
        while self.awaited and self.takeAnswer():
            pass
        if not self.awaited and self.received:
            raise Wrong(f'{name}: more than was asked for: {self.received[:80]!r}')
        return not self.awaited and not self.exchange.closes

    def end(self, name):
        if self.exchange is None or not self.exchange.closes or self.awaited:
            raise Wrong(f'{name}: the server ended the connection')
        return True

    def takeAnswer(self):
        head, found, rest = self.received.partition(b'\r\n\r\n')
        if not found:
            return False
        status, length = readHead(head)
        length = 0 if self.exchange.headOnly else length
        if len(rest) < length:
            return False
        self.check(status, rest[:length])
        self.received, self.awaited = rest[length:], self.awaited[1:]
        return True

    def check(self, status, body):
        expected, bodyIsRight = self.awaited[0]
        if status != expected:
            raise Wrong(f'{self.exchange.name}: answered with {status} instead of {expected}: {body[:80]!r}')
        if not bodyIsRight(body):
            raise Wrong(f'{self.exchange.name}: the body is {body[:80]!r}, {len(body)} bytes')

    def ask(self, exchange):
        """Performs a whole exchange and waits for it."""
        self.begin(exchange)
        while not self.receive():
            pass
        self.exchange = None

    def close(self):
        self.socket.close()


def readHead(head):
    lines = head.split(b'\r\n')
    fields = dict(line.lower().split(b': ', 1) for line in lines[1:] if b': ' in line)
    try:
        return int(lines[0].split(b' ', 2)[1]), int(fields[b'content-length'])
    except (IndexError, KeyError, ValueError):
        raise Wrong(f'this is no head of an answer: {head[:200]!r}') from None
