#!/usr/bin/env python3
"""Asio's and Beast's own examples on carriers: each test starts one, talks to it as a client, and stops it.

  programs_test.py DIRECTORY [unittest's arguments]     DIRECTORY contains the programs
"""

import base64
import concurrent.futures
import hashlib
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE = 60  # seconds; only a program that hangs takes as long
HOST = '127.0.0.1'


def freePort():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def received(connection, size):
    """Receives exactly `size` bytes, or fewer when the connection ends."""
    got = b''
    while len(got) < size:
        piece = connection.recv(size - len(got))
        if not piece:
            break
        got += piece
    return got


def line(connection):
    got = b''
    while not got.endswith(b'\n'):
        piece = connection.recv(1)
        if not piece:
            break
        got += piece
    return got


class Listener:
    """A server for those programs that are clients."""

    def __init__(self, case):
        self.socket = socket.create_server((HOST, 0))
        self.socket.settimeout(PATIENCE)
        self.port = self.socket.getsockname()[1]
        case.addCleanup(self.socket.close)
        self.case = case

    def accept(self):
        connection = self.socket.accept()[0]
        connection.settimeout(PATIENCE)
        self.case.addCleanup(connection.close)
        return connection


class Programs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def start(self, program, *arguments):
        started = subprocess.Popen(['stdbuf', '-oL', PROGRAMS / program, *map(str, arguments)], cwd=self.place, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(started):
        started.kill()
        started.communicate()

    def connect(self, started, port):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                connection = socket.create_connection((HOST, port), timeout=PATIENCE)
                self.addCleanup(connection.close)
                return connection
            except ConnectionRefusedError:
                self.assertIsNone(started.poll(), 'the program has ended')
                self.assertLess(time.monotonic(), end, 'the program does not listen')
                time.sleep(0.01)

    def stop(self, started, number=signal.SIGTERM):
        """Sends a signal that the program handles: run() returns, then main()."""
        started.send_signal(number)
        self.finish(started)

    def finish(self, started, status=0):
        out, errors = started.communicate(timeout=PATIENCE)
        self.assertEqual(started.returncode, status, out + errors)
        return out + errors

    def threads(self, started):
        return len(os.listdir(f'/proc/{started.pid}/task'))

    def echoes(self, connection, data):
        with concurrent.futures.ThreadPoolExecutor(1) as writer:
            sent = writer.submit(connection.sendall, data)
            self.assertEqual(received(connection, len(data)), data)
            sent.result()

    # ---- Asio ----

    def echoServer(self, program, *arguments, port=None):
        port = port or freePort()
        started = self.start(program, *(arguments or (port,)))
        connections = [self.connect(started, port) for _ in range(50)]
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            list(clients.map(lambda connection: self.echoes(connection, os.urandom(30_000)), connections))
        return started

    def testEchoServer(self):
        started = self.echoServer('asio_echo_server')
        self.assertEqual(self.threads(started), 2, "main() and the carrier's")

    def testAllocationServer(self):
        self.echoServer('asio_allocation_server')

    def testCoroutineEchoServer(self):
        self.stop(self.echoServer('asio_coroutine_echo_server', port=55555), signal.SIGINT)

    def testCoroutineTimeout(self):
        started = self.start('asio_coroutine_timeout')
        connection = self.connect(started, 54321)
        connection.sendall(b'quick')
        self.assertEqual(received(connection, 5), b'quick')
        self.assertEqual(connection.recv(1), b'', 'closed after ten seconds without a byte')

    def testUdpEchoServer(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            port = freePort()
            started = self.start('asio_udp_echo_server', port)
            client.settimeout(0.1)  # datagrams are lost until the server is bound
            client.connect((HOST, port))
            end = time.monotonic() + PATIENCE
            while True:
                self.assertIsNone(started.poll(), 'the program has ended')
                self.assertLess(time.monotonic(), end)
                try:
                    client.send(b'ping')
                    self.assertEqual(client.recv(100), b'ping')
                    return
                except (ConnectionRefusedError, TimeoutError):
                    time.sleep(0.01)

    def testChat(self):
        port = freePort()
        server = self.start('asio_chat_server', port)
        plain = self.connect(server, port)
        client = self.start('asio_chat_client', HOST, port)
        client.stdin.write('hello from the client\n')
        client.stdin.flush()
        self.assertEqual(received(plain, 4 + 21), b'  21hello from the client')
        plain.sendall(b'   9and there')
        self.assertEqual(client.stdout.readline(), 'hello from the client\n')
        self.assertEqual(client.stdout.readline(), 'and there\n')
        self.finish(client)  # the program ends at the end of its input

    def testCoroutineChat(self):
        ports = [freePort(), freePort()]
        server = self.start('asio_coroutine_chat_server', *ports)
        rooms = [[self.connect(server, port) for _ in range(3)] for port in ports]
        for number, room in enumerate(rooms):
            room[0].sendall(b'room %d\n' % number)
            for participant in room:
                self.assertEqual(line(participant), b'room %d\n' % number)
        self.stop(server)

    def testThrottlingProxy(self):
        target = Listener(self)
        port = freePort()
        started = self.start('asio_throttling_proxy', HOST, port, HOST, target.port)
        client = self.connect(started, port)
        behind = target.accept()
        client.sendall(b'there')
        self.assertEqual(received(behind, 5), b'there')
        behind.sendall(b'back')
        self.assertEqual(received(client, 4), b'back')

    def testTimeoutsServer(self):
        port = freePort()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as broadcast:
            broadcast.bind((HOST, 0))
            broadcast.settimeout(PATIENCE)
            started = self.start('asio_timeouts_server', port, HOST, broadcast.getsockname()[1])
            first, second = (self.connect(started, port) for _ in range(2))
            second.sendall(b'here\n')
            self.assertEqual(broadcast.recv(100), b'here')
            self.assertEqual(line(first), b'here\n')
            self.assertEqual(line(second), b'here\n')

    def testTimeoutsAsyncClient(self):
        server = Listener(self)
        client = self.start('asio_timeouts_async_client', HOST, server.port)
        connection = server.accept()
        self.assertEqual(connection.recv(1), b'\n', 'its heartbeat')
        connection.sendall(b'a line\n')
        connection.shutdown(socket.SHUT_WR)
        said = self.finish(client)
        self.assertIn('Received: a line', said)
        self.assertIn('Error on receive: End of file', said)

    def roundTrip(self, program):
        server = Listener(self)
        client = self.start(program, HOST, server.port, 'message')
        connection = server.accept()
        self.assertEqual(line(connection), b'message\n')
        connection.sendall(b'another\nmessage\n')
        return self.finish(client)

    def testTimeoutsBlockingClient(self):
        self.assertIn('Round trip time', self.roundTrip('asio_timeouts_blocking_client'))

    def testTimeoutsTokenClient(self):
        self.assertIn('Round trip time', self.roundTrip('asio_timeouts_token_client'))

    def testServices(self):
        started = self.start('asio_services', HOST)  # works with or without a "daytime" server here
        self.finish(started)
        self.assertIn('connect_handler', (self.place / 'log.txt').read_text())

    # ---- HTTP: Asio's servers and Beast's ----

    def page(self, size):
        data = os.urandom(size).hex().encode()
        (self.place / 'page.html').write_bytes(data)
        return data

    def get(self, port, path):
        with urllib.request.urlopen(f'http://{HOST}:{port}{path}', timeout=PATIENCE) as answer:
            return answer.read()

    def httpServer(self, program, *arguments, port):
        page = self.page(100_000)
        started = self.start(program, *arguments)
        self.connect(started, port).close()
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            for got in clients.map(lambda _: self.get(port, '/page.html'), range(40)):
                self.assertEqual(got, page)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get(port, '/no.html')
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()
        return started

    def testHttpServer(self):
        port = freePort()
        self.stop(self.httpServer('asio_http_server1', HOST, port, self.place, port=port))

    def testHttpServerWithAContextForEachThread(self):
        port = freePort()
        started = self.httpServer('asio_http_server2', HOST, port, 3, self.place, port=port)
        self.stop(started, signal.SIGINT)

    def testHttpServerWithAPoolOfThreads(self):
        port = freePort()
        self.stop(self.httpServer('asio_http_server3', HOST, port, 3, self.place, port=port))

    def testHttpServerOfStacklessCoroutines(self):
        port = freePort()
        self.stop(self.httpServer('asio_http_server4', HOST, port, self.place, port=port))

    def testBeastHttpServer(self):
        port = freePort()
        self.httpServer('beast_http_server', HOST, port, self.place, 2, port=port)

    def testBeastHttpServerOfCoroutines(self):
        # It crashes on any io_context when a client leaves in order, because its handler rethrows a null exception.
        page = self.page(100_000)
        port = freePort()
        started = self.start('beast_http_server_awaitable', HOST, port, self.place, 2)
        connections = [self.connect(started, port) for _ in range(8)]
        for connection in connections * 5:
            connection.sendall(f'GET /page.html HTTP/1.1\r\nHost: {HOST}\r\n\r\n'.encode())
            head = b''
            while (got := line(connection)).strip():
                head += got
            self.assertIn(b'200 OK', head)
            self.assertEqual(received(connection, len(page)), page)

    def testBeastAdvancedServer(self):
        port = freePort()
        started = self.httpServer('beast_advanced_server', HOST, port, self.place, 2, port=port)
        self.webSocketEchoes(self.connect(started, port))
        self.stop(started)

    def testBeastWebSocketServer(self):
        port = freePort()
        started = self.start('beast_websocket_server', HOST, port, 2)
        for connection in [self.connect(started, port) for _ in range(10)]:
            self.webSocketEchoes(connection)

    def webSocketEchoes(self, connection):
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(f'GET / HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\nConnection: upgrade\r\n'
                           f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n'.encode())
        head = b''
        while (got := line(connection)).strip():
            head += got
        accepted = base64.b64encode(hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest())
        self.assertIn(b'101 Switching Protocols', head)
        self.assertIn(accepted, head)
        for text in (b'hello', b'x' * 100):
            mask = os.urandom(4)
            masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
            connection.sendall(struct.pack('!BB', 0x81, 0x80 | len(text)) + mask + masked)
            self.assertEqual(received(connection, 2), struct.pack('!BB', 0x81, len(text)))
            self.assertEqual(received(connection, len(text)), text)


if __name__ == '__main__':
    unittest.main()
