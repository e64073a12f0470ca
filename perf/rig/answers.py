"""Checks a server's answers before it is measured: status, body, keep-alive, a request in pieces, pipelining, and the
order of pipelined answers."""

import random
import select
import socket
import ssl

from .failure import Failure
from .servers import Server

BODY = b'Hello, World!'
PIPELINED = 16


def checkProgram(implementation, cpus=None, backend=None):
    """Starts the server, and checks its answers and its exit on SIGTERM. With a backend, the backend's body is the answer."""
    with Server(implementation, cpus, backend=backend) as server:
        if implementation.path is None:
            checkEcho(server)
        else:
            own = b'x' * implementation.bodyBytes if implementation.bodyBytes else BODY
            check(server, implementation.path, implementation.canned, backend.body.encode() if backend else own,
                  implementation.tls)
            if implementation.differing:
                checkDiffering(server, implementation.path, implementation.differing)
        status = server.stop()
    if status != 0 and implementation.announces:
        raise Failure(f'{implementation.name}: exit status {status} on SIGTERM, expected 0. {server.complaint()}')


def check(server, path, canned, body=BODY, tls=False):
    """Raises Failure with the request and the answer. `canned` servers know no answer but 200."""
    with Conversation(server, tls) as peer:
        peer.send(request(path))
        peer.expect(200, body, 'a single request')
        peer.send(request(path))
        peer.expect(200, body, 'a second request on the same connection (keep-alive)')
        whole = request(path)
        for at in range(0, len(whole), 7):
            peer.send(whole[at:at + 7])
        peer.expect(200, body, 'a request sent in pieces of 7 bytes')
        peer.send(request(path) * PIPELINED)
        for index in range(PIPELINED):
            peer.expect(200, body, f'pipelined request {index + 1} of {PIPELINED}')
        half = len(whole) // 2
        peer.send(whole + whole + whole[:half])
        peer.expect(200, body, 'pipelined requests, the last one cut')
        peer.expect(200, body, 'pipelined requests, the last one cut')
        peer.send(whole[half:])
        peer.expect(200, body, 'the rest of a cut request')
        if not canned:
            peer.send((request(path) + request('/no-such-path')) * (PIPELINED // 2))
            for index in range(PIPELINED):
                wanted = (200, body) if index % 2 == 0 else (404, None)
                peer.expect(*wanted, f'pipelined known and unknown paths in turn, answer {index + 1}')
        peer.expectSilence()


def checkDiffering(server, path, name):
    """The header `name` has another value in each answer."""
    with Conversation(server) as peer:
        peer.send(request(path) * PIPELINED)
        values = [field(peer.response('a pipelined request')[0], name) for _ in range(PIPELINED)]
        if None in values or len(set(values)) < PIPELINED:
            peer.fail(f'{PIPELINED} pipelined requests', f'{name} does not differ in each answer: {values}')


def checkEcho(server):
    """Echoes a byte, a large message, and a message larger than all buffers on the way. Reads nothing of a message until
    it is sent or the server accepts no more of it."""
    for size in (1, 1 << 20, 32 << 20):
        message = random.randbytes(size)
        with Conversation(server) as peer:
            if echoed(peer, message) != message:
                peer.fail(f'{size} bytes', 'other bytes came back')
            peer.expectSilence()


def echoed(peer, message):
    peer.socket.setblocking(False)
    sent, received, reading = 0, bytearray(), False
    while len(received) < len(message):
        reading = reading or sent == len(message)
        readable, writable, _ = select.select([peer.socket] * reading, [peer.socket] * (sent < len(message)), [],
                                              10 if reading else 0.2)
        if not readable and not writable and reading:
            peer.fail(f'{len(message)} bytes', f'no more than {len(received)} came back within 10 s')
        reading = reading or not writable    # all buffers are full
        if writable:
            sent += peer.socket.send(message[sent:sent + (1 << 18)])
        if readable:
            data = peer.socket.recv(1 << 18)
            if not data:
                peer.fail(f'{len(message)} bytes', f'the connection was closed; {len(received)} had come back')
            received += data
    return received


def field(head, name):
    """The value of a header of a response, or None."""
    for line in head.split(b'\r\n')[1:]:
        found, _, value = line.partition(b':')
        if found.strip().lower() == name.lower().encode():
            return value.strip()
    return None


def request(path):
    return f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.encode()


class Conversation:
    def __init__(self, server, tls=False):
        self.server = server
        self.socket = socket.create_connection((server.host, server.port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.received = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def expect(self, status, body, what):
        head, gotBody = self.response(what)
        got = head.split(b' ', 2)[1:2]
        if got != [str(status).encode()] or (body is not None and gotBody != body):
            self.fail(what, f'expected {status} {body!r}, got {head.splitlines()[0]!r} {gotBody[:60]!r}')

    def expectSilence(self):
        self.socket.settimeout(0.05)
        try:
            extra = self.received + self.socket.recv(4096)
        except TimeoutError:
            extra = self.received
        if extra:
            self.fail('after the last answer', f'more bytes came: {extra[:80]!r}')

    def response(self, what):
        while b'\r\n\r\n' not in self.received:
            self.more(what)
        head, self.received = self.received.split(b'\r\n\r\n', 1)
        length = field(head, 'Content-Length')
        if length is None:
            self.fail(what, f'a response without Content-Length: {head!r}')
        length = int(length)
        while len(self.received) < length:
            self.more(what)
        body, self.received = self.received[:length], self.received[length:]
        return head, body

    def more(self, what):
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            self.fail(what, f'no whole answer within 10 s; so far {self.received[:80]!r}')
        if not data:
            self.fail(what, f'the connection was closed; so far {self.received[:80]!r}')
        self.received += data

    def fail(self, what, why):
        raise Failure(f'{self.server.name}: wrong answer to {what}: {why}')
