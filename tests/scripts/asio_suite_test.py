#!/usr/bin/env python3
"""tests/asio_suite: its edits, its sources, and its notion of a failure."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def runner():
    loader = importlib.machinery.SourceFileLoader('asio_suite_run', os.path.join(ROOT, 'tests', 'asio_suite', 'run'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('asio_suite_run', loader))
    sys.modules['asio_suite_run'] = module
    loader.exec_module(module)
    return module


RUN = runner()
PASSED = 'x test suite begins\none passed\n::two<int()> passed\nx test suite ends\n\n*** No errors detected.\n'
FAILED = ("x test suite begins\none passed\nx.cpp(7): two: check 'a == b' failed\nx.cpp(8): one: a warning\ntwo failed\n"
          'x test suite ends\n\n*** 1 error detected.\n')


class Edit(unittest.TestCase):
    def test_the_type_is_exchanged_and_its_namesakes_are_not(self):
        for text, edited in (('boost::asio::io_context ioc;', 'X ioc;'), ('io_context io_context(1);', 'X io_context(1);'),
                             ('f(io_context* c, io_context& d)', 'f(X* c, X& d)'), ('strand<io_context::executor_type> s', 'strand<X::executor_type> s'),
                             ('bind(&io_context::stop, &ioc)', 'bind(&X::stop, &ioc)'), ('context_as_t<io_context&>', 'context_as_t<X&>')):
            self.assertEqual(RUN.retargeted(text).replace('weft::asio_io::Context', 'X'), edited)
        for text in ('#include <boost/asio/io_context.hpp>', 'io_context.run();', 'socket s(io_context);', 'f(io_context, 1);',
                     'io_context_run(&ioc);', 'void io_context_test()', '"io_context",'):
            self.assertEqual(RUN.retargeted(text), text)

    def test_a_service_stays_what_it_is(self):
        service = 'class S : public boost::asio::io_context::service\n{\n  S(boost::asio::io_context& s);\n};'
        self.assertEqual(RUN.retargeted(f'{service}\nboost::asio::io_context c;'), f'{service}\nweft::asio_io::Context c;')


class Sources(unittest.TestCase):
    def test_only_the_entries_of_the_distribution_become_those_of_sources(self):
        text = ('Types: deb\nURIs: a\nSuites: own own-updates\nComponents: main contrib\nSigned-By:\n key\n\n'
                'Types: deb\nURIs: b\nSuites: other\nComponents: main\n\n'
                'Enabled: no\nTypes: deb\nURIs: c\nSuites: own\nComponents: main\n')
        self.assertEqual(RUN.stanzas(text, 'own'), ['Types: deb-src\nURIs: a\nSuites: own own-updates\nComponents: main contrib\n'
                                                    'Signed-By: \n key'])
        text = 'deb [signed-by=k] a own main\n# deb b own main\ndeb c their-own main\ndeb d own contrib\ndeb e own-security main\n'
        self.assertEqual(RUN.lines(text, 'own'), ['deb-src [signed-by=k] a own main', 'deb-src e own-security main'])


class Verdicts(unittest.TestCase):
    def test_a_pass(self):
        self.assertEqual(RUN.verdictOf('x.cpp', 0, PASSED), (2, []))

    def test_a_failed_check(self):
        self.assertEqual(RUN.verdictOf('x.cpp', 1, FAILED), (1, [('x.cpp(7)', "check 'a == b' failed")]))

    def test_a_program_that_does_not_end_as_a_suite_does(self):
        for status, said, what in ((None, PASSED[:40], 'hangs after 1 tests'), (-6, PASSED[:40], 'ends by signal 6 after 1 tests'),
                                   (0, PASSED[:40], 'ends with status 0 after 1 tests'), (3, PASSED, 'ends with status 3 after 2 tests')):
            self.assertEqual(RUN.verdictOf('x.cpp', status, said)[1], [('x.cpp', what)])

    def test_each_line_of_the_table_has_a_reason(self):
        with open(os.path.join(ROOT, 'tests', 'asio_suite', 'README.md'), encoding='utf-8') as file:
            page = file.read()
        table = page[page.index('|---|---|---|'):].split('\n\n')[0].splitlines()[1:]
        self.assertEqual(len(RUN.expectations(page)), len(table))


if __name__ == '__main__':
    unittest.main()
