"""The client processes of the soak: one keeps its connections busy, the others keep theirs idle.

Each is a function that runs in its own process and talks to the driver over a pipe. It sends ('ready',) once its
connections are established, and ('done', tally) after the driver has told it to end. If the server does something
wrong, it sends ('wrong', text) and ends at once.
"""

import collections
import random
import select
import time

from exchange import PATIENCE, PLAINTEXT, Client, Wrong

TICK = 0.005  # seconds between two checks for due requests


def told(run):
    """Wraps `run` as a process that reports failures to the driver."""
    def main(pipe, *arguments):
        try:
            pipe.send(('done', run(pipe, *arguments)))
        except Wrong as wrong:
            pipe.send(('wrong', str(wrong)))
    return main


class Crowd:
    """Connections, and the poll over them and the driver's pipe."""

    def __init__(self, address, pipe):
        self.address, self.pipe = address, pipe
        self.poll = select.epoll()
        self.poll.register(pipe.fileno(), select.EPOLLIN)
        self.clients = {}

    def connect(self):
        client = Client(self.address)
        self.clients[client.socket.fileno()] = client
        self.poll.register(client.socket.fileno(), select.EPOLLIN)
        return client

    def drop(self, client):
        del self.clients[client.socket.fileno()]
        client.close()

    def wait(self, seconds=None):
        """The clients with input, and whether the driver has sent its order."""
        ready = [fd for fd, _ in self.poll.poll(seconds)]
        return [self.clients[fd] for fd in ready if fd in self.clients], self.pipe.fileno() in ready


@told
def idle(pipe, address, count):
    """Each connection makes one request, is silent until the order, and must then answer once more."""
    crowd = Crowd(address, pipe)
    for _ in range(count):
        crowd.connect().ask(PLAINTEXT)
    pipe.send(('ready',))
    ordered = False
    while not ordered:
        readable, ordered = crowd.wait()
        for client in readable:
            client.receive()  # the end of the connection or unsolicited bytes: raises Wrong
    for client in crowd.clients.values():
        client.ask(PLAINTEXT)
    return {'idle connections that answered at the end': count}


@told
def busy(pipe, address, count, rate, exchanges, answered):
    """`rate` exchanges a second, on connections that take turns. `answered` is shared with the driver."""
    return Load(Crowd(address, pipe), count, rate, exchanges, answered).run()


class Load:
    def __init__(self, crowd, count, rate, exchanges, answered):
        self.crowd, self.rate, self.answered = crowd, rate, answered
        self.exchanges = random.Random(1).sample(exchanges, len(exchanges))
        self.next = 0
        self.free = collections.deque(crowd.connect() for _ in range(count))
        self.asking = {}  # in order of their start
        self.tally = collections.Counter()
        self.longest = 0.0

    def run(self):
        self.crowd.pipe.send(('ready',))
        due, ordered = time.monotonic(), False
        while not ordered:
            due = self.beginWhatIsDue(due)
            ordered = self.takeAnswers()
        while self.asking:
            self.takeAnswers()
        return {**self.tally, 'ms of the slowest exchange': round(self.longest * 1000)}

    def beginWhatIsDue(self, due):
        now = time.monotonic()
        while due <= now and self.free:
            client = self.free.popleft()
            self.asking[client] = True
            client.begin(self.exchanges[self.next])
            self.next = (self.next + 1) % len(self.exchanges)
            due += 1 / self.rate
        return max(due, now - TICK)  # missed requests are not made up for

    def takeAnswers(self):
        readable, ordered = self.crowd.wait(TICK)
        for client in readable:
            if client.receive():
                self.finish(client)
        oldest = next(iter(self.asking), None)
        if oldest and time.monotonic() - oldest.began > PATIENCE:
            raise Wrong(f'{oldest.exchange.name}: no answer after {PATIENCE} s')
        return ordered

    def finish(self, client):
        del self.asking[client]
        self.longest = max(self.longest, time.monotonic() - client.began)
        self.tally[client.exchange.name] += 1
        self.answered.value += len(client.exchange.answers)
        if client.exchange.closes:
            self.crowd.drop(client)
            client = self.crowd.connect()
        client.exchange = None
        self.free.append(client)
