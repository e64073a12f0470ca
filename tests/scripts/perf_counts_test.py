#!/usr/bin/env python3
"""perf/counts --check counts once, and four times more what is over its limit. It fails when the median of instructions,
allocations or copied bytes is over its limit, and only reports the other counts."""

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
                         {'instructions_per_request', 'allocations_per_request', 'copied_bytes_per_request'})


class Programs(unittest.TestCase):
    def test_those_that_the_limits_name_are_built_by_one_target(self):
        with mock.patch('sys.argv', ['perf/counts', '--programs']), contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(COUNTS.main(), 0)
        programs = output.getvalue().split()
        sources = glob.glob(os.path.join(ROOT, 'perf', 'scenarios', '*', '*.cpp'))
        self.assertIn('plaintext_weft', programs)
        self.assertLessEqual(set(programs), {'_'.join(source[:-4].split(os.sep)[-2:]) for source in sources})


if __name__ == '__main__':
    unittest.main()
