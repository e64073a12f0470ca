#!/usr/bin/env python3
"""perf/counts --check counts once, and four times more what is over its limit. It fails when the median of instructions,
allocations, copied bytes or memory is over its limit, and only reports the other counts. A limit more than 2 % above its count gives
its reason."""

import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import json
import os
import tempfile
import types
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def perfCounts():
    loader = importlib.machinery.SourceFileLoader('perf_counts', os.path.join(ROOT, 'perf', 'counts'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('perf_counts', loader))
    loader.exec_module(module)
    return module


COUNTS = perfCounts()
LIMITS = {'instructions_per_request': 1020, 'allocations_per_request': 0.01, 'futex_calls_per_request': 0.01}


class Checks(unittest.TestCase):
    def check(self, *counted):
        """The exit status, stdout, stderr and the kinds of each count of --check, which finds `counted` in turn."""
        stored = {'scenario': 'plaintext', 'implementation': 'weft', 'shape': {'connections': 64, 'depth': 1}, 'build_type': 'Release',
                  'counts': {kind: {'count': 0, 'limit': limit, 'target': None} for kind, limit in LIMITS.items()}}
        asked, left = [], list(counted)

        def measure(_build, _implementation, _shape, kinds):
            asked.append(list(kinds))
            found = left.pop(0)
            return {kind: found.get(kind, 0) for kind in kinds}, []
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'plaintext-weft.json')
            with open(path, 'w') as file:
                json.dump(stored, file)
            with mock.patch.object(COUNTS, 'THRESHOLDS', directory), mock.patch.object(COUNTS.counting, 'measure', measure), \
                    mock.patch.object(COUNTS.catalog, 'findBuild', lambda given: directory), \
                    mock.patch.object(COUNTS.catalog, 'implementations', lambda *_: ([types.SimpleNamespace(targets={})], [])), \
                    mock.patch.object(COUNTS.answers, 'checkProgram', lambda implementation: None), \
                    mock.patch.object(COUNTS.machine, 'versions', lambda build: {'build_type': 'Release'}), \
                    mock.patch('sys.argv', ['perf/counts', '--check']), \
                    contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
                status = COUNTS.main()
        self.assertEqual(left, [], 'fewer counts than expected')
        return status, output.getvalue(), errors.getvalue(), asked

    def test_one_count_within_all_limits_is_enough(self):
        status, _, errors, asked = self.check({'instructions_per_request': 1020})
        self.assertEqual((status, errors, asked), (0, '', [sorted(LIMITS)]))

    def test_what_is_over_its_limit_is_counted_four_times_more_and_nothing_else(self):
        *_, asked = self.check({'instructions_per_request': 1021}, {}, {}, {}, {})
        self.assertEqual(asked[1:], [['instructions_per_request']] * 4)

    def test_the_median_decides_and_not_the_least(self):
        def counts(*values):
            return [{'instructions_per_request': value} for value in values]
        self.assertEqual(self.check(*counts(1100, 1100, 1000, 1010, 1015))[0], 0)
        status, _, errors, _ = self.check(*counts(1100, 1100, 1000, 1010, 1050))
        self.assertEqual((status, errors), (1, 'plaintext-weft: instructions_per_request is 1,050.0, over its limit 1,020.0\n'))

    def test_allocations_over_their_limit_fail(self):
        self.assertEqual(self.check(*[{'allocations_per_request': 1}] * 5)[0], 1)

    def test_what_depends_on_the_turns_is_only_reported(self):
        status, output, errors, _ = self.check(*[{'futex_calls_per_request': 0.5}] * 5)
        self.assertEqual((status, errors), (0, ''))
        self.assertIn('plaintext-weft: futex_calls_per_request is 0.500, over its limit 0.010 (only reported)', output)
        self.assertEqual({kind for kind, each in COUNTS.counting.COUNTS.items() if each.refuses},
                         {'instructions_per_request', 'allocations_per_request', 'copied_bytes_per_request',
                          'resident_bytes_per_connection'})


class Kinds(unittest.TestCase):
    def test_only_a_connection_that_stays_can_be_idle(self):
        def kinds(path, **shape):
            return COUNTS.counting.kindsOf(types.SimpleNamespace(path=path), shape)
        self.assertIn('resident_bytes_per_connection', kinds('/plaintext', connections=64))
        for without in kinds(None, connections=16, echo=65536), kinds('/plaintext', connections=16, handshakes='full'):
            self.assertEqual(without, [kind for kind in COUNTS.counting.COUNTS if kind != 'resident_bytes_per_connection'])

    def test_the_kind_of_handshakes_is_the_first_of_the_scenario_or_the_one_that_is_asked_for(self):
        def kind(asked, scenario):
            return COUNTS.handshakesOf(types.SimpleNamespace(handshakes=asked, scenario='tls_handshake'), scenario)
        both = {'handshakes': ['full', 'resumed']}
        self.assertEqual((kind(None, both), kind('resumed', both), kind(None, {})), ('full', 'resumed', None))
        self.assertRaises(COUNTS.Failure, kind, 'half', both)
        self.assertRaises(COUNTS.Failure, kind, 'full', {})


class Programs(unittest.TestCase):
    def test_those_that_the_limits_name_are_built_by_one_target(self):
        with mock.patch('sys.argv', ['perf/counts', '--programs']), contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(COUNTS.main(), 0)
        programs = output.getvalue().split()
        sources = glob.glob(os.path.join(ROOT, 'perf', 'scenarios', '*', '*.cpp'))
        self.assertIn('plaintext_weft', programs)
        self.assertLessEqual(set(programs), {'_'.join(source[:-4].split(os.sep)[-2:]) for source in sources})


def unexplained(entries):
    """What is wrong with the limits of a file of perf/thresholds/."""
    for kind, entry in entries.items():
        usual, why = COUNTS.counting.usualLimit(kind, entry['count']), entry.get('why')
        if entry['limit'] > usual + 0.001 and not why:
            yield f'{kind} has the limit {entry["limit"]}, more than {usual}, without a "why"'
        if entry['limit'] < entry['count']:
            yield f'{kind} has a limit below its count'
        if why is not None and not (why[:1].isupper() and why.endswith('.')):
            yield f'{kind} has a "why" that is no sentence'


class Limits(unittest.TestCase):
    def test_one_that_is_more_than_two_percent_above_its_count_says_why(self):
        paths = glob.glob(os.path.join(ROOT, 'perf', 'thresholds', '*.json'))
        self.assertGreater(len(paths), 8)
        for path in sorted(paths):
            with open(path) as file, self.subTest(os.path.basename(path)):
                self.assertEqual(list(unexplained(json.load(file)['counts'])), [])

    def test_the_margin_is_two_percent_or_the_least_of_its_kind(self):
        def found(kind, count, limit, **more):
            return [*unexplained({kind: {'count': count, 'limit': limit, **more}})]
        self.assertEqual(found('instructions_per_request', 1000, 1020), [])
        self.assertNotEqual(found('instructions_per_request', 1000, 1021), [])
        self.assertEqual(found('instructions_per_request', 1000, 1021, why='Its batches vary.'), [])
        self.assertNotEqual(found('instructions_per_request', 1000, 1021, why=''), [])
        self.assertNotEqual(found('instructions_per_request', 1000, 999), [])
        self.assertEqual(found('allocations_per_request', 0, 0.01), [])
        self.assertNotEqual(found('allocations_per_request', 0, 0.012), [])

    def test_update_keeps_a_limit_that_says_why_until_the_count_exceeds_it(self):
        stored = {'counts': {'instructions_per_request': {'count': 1000, 'limit': 1300, 'target': 900, 'why': 'Its batches vary.'}}}

        def updated(count):
            with tempfile.TemporaryDirectory() as directory, mock.patch.object(COUNTS, 'THRESHOLDS', directory), \
                    mock.patch.object(COUNTS.machine, 'versions', lambda build: {'build_type': 'Release'}), \
                    contextlib.redirect_stdout(io.StringIO()):
                path = os.path.join(directory, 'plaintext-weft.json')
                weft = types.SimpleNamespace(name='weft', targets={})
                COUNTS.write(path, 'plaintext', weft, {'depth': 1}, {'instructions_per_request': count}, json.loads(json.dumps(stored)),
                             directory)
                with open(path) as file:
                    return json.load(file)['counts']['instructions_per_request']
        self.assertEqual(updated(1100), {'count': 1100, 'limit': 1300, 'target': 900, 'why': 'Its batches vary.'})
        self.assertEqual(updated(2000), {'count': 2000, 'limit': 2040, 'target': 900})


if __name__ == '__main__':
    unittest.main()
