"""A stand-in for http_server or mock_backend, depending on the name it is started under. As http_server it has the
defect that WEFT_SOAK_DEFECT names, which the soak must notice. Without a defect it answers as they do."""

import asyncio
import os
import re
import signal
import sys
import threading

FRUITS = b'["fig"]'
DEFECT = os.environ.get('WEFT_SOAK_DEFECT', '') if sys.argv[0].endswith('http_server') else ''
kept = []


def answerTo(method, target, body):
    if target == '/stats':
        return 200, b'{"carriers":[{}]}'
    if target == '/echo':
        return 200, body
    known = {'/plaintext': b'Hello, World!', '/fiber': b'Hello, World!', '/sleep?ms=1': b'slept 1 ms\n', '/fruits': FRUITS}
    return (200, known[target]) if target in known else (404, b'404 Not Found\n')


class Connection(asyncio.Protocol):
    connections = allAnswers = 0
    askedOnce = {}  # connection -> allAnswers at that time

    def connection_made(self, transport):
        Connection.connections += 1
        self.transport, self.bytes, self.answers = transport, b'', 0
        self.late = Connection.connections > 11  # after the warm-up
        if self.late and DEFECT == 'keeps descriptors':
            kept.append(os.open('/dev/null', os.O_RDONLY))
        if self.late and DEFECT == 'starts threads' and not kept:
            kept.append(threading.Thread(target=threading.Event().wait, daemon=True))
            kept[0].start()

    def data_received(self, piece):
        self.bytes += piece
        while found := re.match(rb'(\w+) (\S+) HTTP/1.1\r\n(.*?)\r\n\r\n', self.bytes, re.S):
            method, target, fields = (group.decode() for group in found.groups())
            length = re.search(r'Content-Length: (\d+)', fields)
            end = found.end() + (int(length[1]) if length else 0)
            if len(self.bytes) < end:
                return
            body, self.bytes = self.bytes[found.end():end], self.bytes[end:]
            self.answer(method, target, body, 'Connection: close' in fields)

    def endIdleOnes(self):
        if self.late and self.answers == 1:
            Connection.askedOnce[self] = Connection.allAnswers
        else:
            Connection.askedOnce.pop(self, None)
        if DEFECT == 'ends idle connections':
            for connection, then in list(Connection.askedOnce.items()):
                if Connection.allAnswers - then > 100:  # a busy one would have had another request
                    connection.transport.close()

    def answer(self, method, target, body, last):
        status, content = answerTo(method, target, body)
        self.answers += 1
        Connection.allAnswers += 1
        self.endIdleOnes()
        wrong = self.late and self.answers > 1
        if wrong and DEFECT == 'answers nothing':
            return
        if wrong and DEFECT == 'answers with another status':
            status = 503
        if wrong and DEFECT == 'answers with another body':
            content = content[:-1] + b'?'
        if wrong and DEFECT == 'answers twice':
            self.transport.write(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        head = f'HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n'.encode()
        self.transport.write(head if method == 'HEAD' else head + content)
        if last or wrong and DEFECT == 'ends busy connections':
            self.transport.close()


async def main():
    server = await asyncio.get_running_loop().create_server(Connection, '127.0.0.1', 0)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    print('listening on 127.0.0.1:%d' % server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    if DEFECT == 'ends badly':
        print('something was lost', file=sys.stderr)
    os._exit(3 if DEFECT == 'ends badly' else 0)


asyncio.run(main())
