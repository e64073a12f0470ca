#!/usr/bin/env python3
"""System calls (strace -f -c) and CPU time of the server per echo round trip, epoll against io_uring (ADR 0009).

  count.py PATH/echo_uring_weft

Each figure is a difference between two lengths of run, so that start-up and connecting cancel out."""
import os
import re
import socket
import subprocess
import sys
import tempfile

SIZE = 64


def talk(address, connections, rounds):
    host, port = address.rsplit(':', 1)
    peers = [socket.create_connection((host, int(port))) for _ in range(connections)]
    for peer in peers:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(rounds):
        for peer in peers:
            peer.sendall(b'x' * SIZE)
        for peer in peers:
            left = SIZE
            while left:
                left -= len(peer.recv(left))


def serve(command, connections, rounds):
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    talk(server.stdout.readline().strip(), connections, rounds)
    server.stdin.close()
    _, status, usage = os.wait4(server.pid, 0)
    server.returncode = status
    return usage.ru_utime + usage.ru_stime


def calls(program, transport, connections, rounds):
    with tempfile.NamedTemporaryFile('r') as table:
        serve(['strace', '-f', '-c', '-o', table.name, program, transport], connections, rounds)
        rows = [line.split() for line in table]
    return {row[-1]: int(row[3]) for row in rows if re.match(r'\d+\.\d+$', (row or [''])[0]) and row[-1] != 'total'}


def main(program):
    for connections, rounds in ((1, 2000), (64, 100)):
        trips = 2 * connections * rounds
        for transport in ('epoll', 'uring'):
            few, many = (calls(program, transport, connections, rounds * n) for n in (1, 3))
            each = {name: round((many[name] - few.get(name, 0)) / trips, 3) for name in many}
            each = {name: count for name, count in each.items() if count > 0.002}
            few, many = (serve([program, transport], connections, rounds * n) for n in (10, 30))
            print(f'{connections:3} {transport}: {sum(each.values()):.2f} calls {each}, '
                  f'{(many - few) / trips / 10 * 1e6:.1f} us', flush=True)


main(*sys.argv[1:])
