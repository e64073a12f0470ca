#!/usr/bin/env python3
"""Tests the output of scripts/serve and its order, with the programs of a given directory instead of a build."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, 'build', 'dev', 'examples')
PATIENCE = 60  # seconds; only a script that hangs takes as long


class Serve(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = place.name
        for directory in ('scripts', 'build/release', 'bin'):
            os.makedirs(os.path.join(self.root, directory))
        shutil.copy(os.path.join(ROOT, 'scripts', 'serve'), os.path.join(self.root, 'scripts'))
        os.symlink(PROGRAMS, os.path.join(self.root, 'build', 'release', 'examples'))
        for name in ('scripts/setup', 'bin/cmake'):  # stubs: nothing is installed or built
            path = os.path.join(self.root, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\n')
            os.chmod(path, 0o755)

    def serve(self, *flags):
        server = subprocess.Popen([os.path.join(self.root, 'scripts', 'serve'), *flags], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                  env=dict(os.environ, PATH=os.path.join(self.root, 'bin') + ':' + os.environ['PATH']))
        self.addCleanup(self.end, server)
        return server

    @staticmethod
    def end(server):
        try:
            os.killpg(server.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        server.communicate()

    def test_what_to_try_follows_the_line_that_says_where_the_server_listens(self):
        server = self.serve('--listen', '127.0.0.1:0')
        lines = []
        for line in server.stdout:
            lines.append(line)
            if 'curl' in line and '/stats' in line:
                break
        listening = [number for number, line in enumerate(lines) if line.startswith('listening on ')]
        self.assertEqual(len(listening), 1, lines)
        address = lines[listening[0]].split()[-1]
        curls = [number for number, line in enumerate(lines) if 'curl' in line]
        self.assertGreater(min(curls), listening[0])
        self.assertTrue(all(address in lines[number] for number in curls), lines)
        host, port = address.split(':')
        with socket.create_connection((host, int(port)), PATIENCE) as client:
            client.sendall(b'GET /plaintext HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
            self.assertIn(b'200 OK', client.makefile('rb').read())

    def test_nothing_to_try_is_printed_when_the_port_is_taken(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            server = self.serve('--listen', '127.0.0.1:%d' % taken.getsockname()[1])
            output, errors = server.communicate(timeout=PATIENCE)
        self.assertEqual(server.returncode, 1)
        self.assertNotIn('curl', output)
        self.assertIn('Address already in use', errors)

    def test_an_interrupt_of_the_whole_group_ends_it_with_status_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = self.serve('--listen', '127.0.0.1:0')
            for line in server.stdout:
                if line.startswith('listening on '):
                    break
            os.killpg(server.pid, number)
            _, errors = server.communicate(timeout=PATIENCE)
            self.assertEqual(server.returncode, 0, errors)


    def test_tls_has_a_certificate_and_a_port(self):
        server = self.serve('--listen', '127.0.0.1:0', '--tls-listen', '127.0.0.1:0')
        lines = []
        for line in server.stdout:
            lines.append(line)
            if 'plain HTTP on a port for TLS' in line:
                break
        curls = [line.split('#')[0].split() for line in lines if 'https://' in line]
        self.assertEqual(len(curls), 1, lines)
        answer = subprocess.run(curls[0], cwd=self.root, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(answer.stdout, 'Hello, World!', answer.stderr)
        again = self.serve('--listen', '127.0.0.1:0', '--tls', '--tls-listen', '127.0.0.1:0')
        for line in again.stdout:
            self.assertNotIn('made the certificate', line)
            if line.startswith('listening on '):
                break


if __name__ == '__main__':
    unittest.main()
