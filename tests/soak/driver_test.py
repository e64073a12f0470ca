#!/usr/bin/env python3
"""The soak detects the defects it exists for: a stand-in server with one defect at a time, and rows of samples."""

import concurrent.futures
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from process import Sample, grown                                    # noqa: E402

# Long enough for a defect to show on a loaded machine; the run ends at its first sign.
LONG = ('--minutes', '1', '--active', '2', '--idle', '30', '--rate', '400')
SHORT = ('--minutes', '0.01', '--active', '2', '--idle', '30', '--rate', '400')
AT_THE_END = ('', 'keeps descriptors', 'starts threads', 'ends badly')
DEFECTS = {  # and the message that each must cause; the slowest first
    'answers nothing': 'no answer after 2 s|timed out',
    'keeps descriptors': 'descriptors are open after all clients have gone',
    'answers with another status': 'answered with 503 instead of',
    'answers with another body': 'the body is',
    'answers twice': 'than was asked for|nobody asked for|the body is',
    'ends busy connections': 'the server ended the connection|ECONNRESET',  # a reset if a request is unread
    'ends idle connections': 'an idle connection: the server ended the connection',
    'starts threads': 'threads after',
    'ends badly': 'http_server ended with status 3 and said: something was lost',
}
WAITED_FOR = ('answers nothing', 'keeps descriptors')
REFUSED = {
    ('--minutes', '90'): "'90'; accepted: a number from 0.01 to 55",
    ('--active', 'many'): "'many'; accepted: a whole number from 1 to 100000",
    ('--rate', '0.5'): "'0.5'; accepted: a whole number from 1 to 100000",
}


def standIn(path):
    """Its first line names this very interpreter: searching for one takes longer than the rest."""
    with open(os.path.join(HERE, 'defective_server.py')) as source, open(path, 'w') as program:
        program.write(f'#!{sys.executable}\n' + source.read())
    os.chmod(path, 0o755)


def soak(*flags, defect=''):
    timeout = {'WEFT_SOAK_TIMEOUT': '2'} if defect in WAITED_FOR else {}
    return subprocess.run([sys.executable, os.path.join(HERE, 'run'), *flags], capture_output=True, text=True,
                          env={**os.environ, 'WEFT_SOAK_DEFECT': defect, **timeout})


class Soak(unittest.TestCase):
    def testNoticesEachDefect(self):
        with tempfile.TemporaryDirectory() as programs, concurrent.futures.ThreadPoolExecutor(6) as workers:
            for name in ('http_server', 'mock_backend'):
                standIn(os.path.join(programs, name))
            runs = {defect: workers.submit(soak, '--programs', programs, *(SHORT if defect in AT_THE_END else LONG),
                                           defect=defect) for defect in ('', *DEFECTS)}
        sound = runs['']
        self.assertEqual((sound.result().returncode, sound.result().stderr), (0, ''))
        for defect, said in DEFECTS.items():
            with self.subTest(defect):
                self.assertEqual(runs[defect].result().returncode, 1)
                self.assertRegex(runs[defect].result().stderr, said)

    def testRefusesWhatItCannotTake(self):
        for flags, said in REFUSED.items():
            with self.subTest(flags):
                run = soak(*flags)
                self.assertEqual(run.returncode, 2)
                self.assertIn(said, run.stderr)

    def testNamesTheProgramThatIsMissing(self):
        run = soak('--programs', '/nowhere')
        self.assertEqual(run.returncode, 1)
        self.assertIn('/nowhere/mock_backend is missing; first: cmake --preset perf', run.stderr)


def samples(kib):
    """A run of half an hour; `kib` gives the memory at a fraction of it."""
    return [Sample(10.0 * i, round(kib(i / 180)), 3, 100, 60) for i in range(181)]


class Memory(unittest.TestCase):
    def testIsFlat(self):
        for kib in (lambda share: 50_000,
                    lambda share: 50_000 + 600 * (share * 1000 % 7 / 7),              # fluctuates
                    lambda share: 50_000 + 20_000 * min(1, 4 * share),                # warms up
                    lambda share: 50_000 + 400 * share,
                    lambda share: 50_000 - 9_000 * share):
            self.assertIsNone(grown(samples(kib)))

    def testIsNotFlat(self):
        for kib in (lambda share: 50_000 + 900 * share,
                    lambda share: 50_000 + 900 * share + 600 * (share * 1000 % 7 / 7),
                    lambda share: 50_000 + 700 * (share > 0.7)):
            self.assertIn('the memory is not flat', grown(samples(kib)) or '')


if __name__ == '__main__':
    unittest.main()
