#!/usr/bin/env python3
"""docs/reference/rules.md defines each cited id exactly once, and names only tests that exist."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ('scheduler', 'pipeline', 'transports', 'framework', 'tests')
PAGE = os.path.join('docs', 'reference', 'rules.md')

NETTY = 'TH|HC|RC|[HPESCRWFLBD]'
FAMILY = rf'(?:{NETTY}|SCH|BEH|DEC)'
RULE = re.compile(rf'(?<![\w-]){FAMILY}-\d{{1,2}}[a-z]?(?![\w-])')  # "W-8", "DEC-14a"; not the B of "SUB-8", not "-O1"
BRACKETED = re.compile(r'\[([A-Z]\d)\]')                             # "[K1]", an edge
BARE = re.compile(r'(?<![\w\[.+-])[A-Z]\d{1,2}[a-z]?(?![\w-]|\.\w)')  # "K1", an edge; not "C20" of "C++20", not "Z6.U"
NO_ID = {'L3'}                                                       # a cache, in comments about topologies
OWN_EDGES = {os.path.join('tests', 'model', 'explorer_test.cpp')}    # invents edges to test the explorer
DEFINED = re.compile(rf'(?:{FAMILY}-\d{{1,2}}[a-z]?|2\.17|R(?:[0-9a-f]{{7}}|\d{{3}})|Netty\d+)$')

RULES_OF_TEST = re.compile(rf'(?:{FAMILY}\d{{1,2}}[a-z]?_)+')        # "W3_W4_...", "SCH8_..."
WITHOUT_UNDERSCORE = re.compile(rf'(?:{NETTY})\d{{1,2}}[A-Z][a-z]?')  # "E7OutOf...", which ctest -R E7_ does not find
REGRESSION_OF_TEST = re.compile(r'R(?:[0-9a-f]{7}|\d{3})(?=_)')      # "R2fe64a3_...", "R112_..."
ISSUES_OF_TEST = re.compile(r'Netty((?:\d+_)+)')                     # "Netty9362_9476_..."
EDGE_OF_TEST = re.compile(r'([A-Z]\d)_')                             # "V1_..."
LOOKS_LIKE_AN_ID = re.compile(r'[A-Z]{1,4}\d+[a-z]?_')

TEST = re.compile(r'^(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\s*\)', re.M)
CPP_COMMENT = re.compile(r'''((?:[^"'/]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|'|/(?!/))*?)//+(.*)$''')
HASH_COMMENT = re.compile(r'''((?:[^"'#]|"[^"]*"|'[^']*'|["'])*?)#+(.*)$''')


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def document(name):
    return next(path for path in under('docs', '.md') if os.path.basename(path) == name)


def under(folder, *endings):
    for at, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = [name for name in folders if name not in ('corpora', '__pycache__')]
        for name in names:
            if name.endswith(endings) and os.path.join(at, name) != os.path.abspath(__file__):
                yield os.path.relpath(os.path.join(at, name), ROOT)


def comments(text, pattern):
    """Yields (line number, text); consecutive lines with nothing but a comment form one comment."""
    begin, block = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        found = pattern.match(line) if '//' in line or '#' in line else None
        alone = found and not found[1].strip()
        if block and not alone:
            yield begin, ' '.join(block)
            block = []
        if alone:
            begin = begin if block else number
            block.append(found[2])
        elif found:
            yield number, found[2]
    if block:
        yield begin, ' '.join(block)


def all_comments():
    for room in ROOMS:
        for path in under(room, '.hpp', '.cpp', '.py', '.txt'):
            if path.endswith('.txt') and not path.endswith('CMakeLists.txt'):
                continue
            pattern = CPP_COMMENT if path.endswith(('.hpp', '.cpp')) else HASH_COMMENT
            for number, comment in comments(read(path), pattern):
                yield f'{path}:{number}', comment


def rows(text, cells):
    """The cells of each row of the tables with this number of columns."""
    for line in text.splitlines():
        found = [cell.strip() for cell in line.strip('|').split(' | ')] if line.startswith('| ') else []
        if len(found) == cells or len(found) == cells - 1 and line.endswith('| |'):
            yield found


def ids_of(page):
    """The ids of the first cells, in order."""
    firsts = re.findall(r'^\| ([^|]+) \|', page, re.M)
    return [one for cell in firsts for one in cell.split(', ') if DEFINED.match(one)]


def edges_of(protocol):
    return set(re.findall(r'^(?:\| )?([A-Z]\d)(?: \||:)', protocol, re.M))


def ids_of_test(name):
    """The ids at the start of a test's name, as a comment would cite them; None for what only looks like one."""
    if found := RULES_OF_TEST.match(name):
        return [re.sub(r'(?<=[A-Z])(?=\d)', '-', one, count=1) for one in found[0].split('_') if one]
    if found := REGRESSION_OF_TEST.match(name):
        return [found[0]]
    if found := ISSUES_OF_TEST.match(name):
        return ['Netty' + number for number in found[1].split('_') if number]
    if found := EDGE_OF_TEST.match(name):
        return [found[1]]
    if WITHOUT_UNDERSCORE.match(name):
        return None
    return None if LOOKS_LIKE_AN_ID.match(name) else []


def without_words(comment):
    """Whether a comment consists of citations of rules and nothing else."""
    rest = re.sub(r'\b(and|to|rules?|see)\b', '', RULE.sub('', comment))
    return bool(RULE.search(comment)) and not re.search(r'[A-Za-z]{2}', rest)


def tests():
    scripts = read('tests', 'scripts', 'CMakeLists.txt')
    found = {f'Scripts.{name}' for name in re.findall(r'^ *weft_script_test\((\w+) \w', scripts, re.M)}
    for path in under('tests', '.hpp', '.cpp'):
        found.update('.'.join(pair) for pair in TEST.findall(read(path)))
    return found


class Patterns(unittest.TestCase):
    def test_rules_are_told_from_other_words(self):
        self.assertEqual(RULE.findall('(W-8), R-*, S-1..S-6, DEC-14a; HC-1.'), ['W-8', 'S-1', 'S-6', 'DEC-14a', 'HC-1'])
        self.assertEqual(RULE.findall('UTF-8, SHA-1, -O1, R-100, A-1, 3-D-2, x86-64, HTTP/1.1'), [])
        self.assertEqual(BARE.findall('K1, W8: (D14a), X1; C++20, Z6.U, HTTP1, [K2], -O2, W-8'), ['K1', 'W8', 'D14a', 'X1'])

    def test_names_of_tests_begin_with_ids(self):
        for name, ids in {'W3_W4_X': ['W-3', 'W-4'], 'SCH8_X': ['SCH-8'], 'DEC8a_X': ['DEC-8a'], 'E7OutOf': None, 'HC5Bytes': None,
                          'R2fe64a3_X': ['R2fe64a3'], 'R112_AWake': ['R112'], 'R8975541_X': ['R8975541'],
                          'Rebd531a_33_34_X': ['Rebd531a'], 'Netty9362_9476_X': ['Netty9362', 'Netty9476'], 'V1_X': ['V1'],
                          'A100SaysThat': [], 'Http10Closes': [], 'Spawns': [], 'XYZ3_X': None}.items():
            self.assertEqual(ids_of_test(name), ids, name)

    def test_strings_hold_no_comments_and_lines_of_one_belong_together(self):
        text = 'a("http://H-1");  // one H-2\n// two\n// (H-3)\nb(\'"\');  // H-4\n'
        self.assertEqual([found for _, found in comments(text, CPP_COMMENT)], [' one H-2', ' two  (H-3)', ' H-4'])
        self.assertTrue(without_words(' H-3, H-4 and H-5.'))
        self.assertFalse(without_words(' names are unique (H-1)'))
        self.assertFalse(without_words(' [K1] [K2]'))


class Rules(unittest.TestCase):
    def setUp(self):
        self.page = read(PAGE)
        self.ids = ids_of(self.page)
        self.edges = edges_of(read(document('protocol.md')))
        self.defined = set(self.ids) | self.edges

    def test_each_id_is_defined_once(self):
        self.assertGreater(len(self.ids), 150)
        self.assertGreater(len(self.edges), 30)
        self.assertEqual(sorted({one for one in self.ids if self.ids.count(one) > 1}), [], 'two rows for one id')

    def test_each_row_has_a_sentence(self):
        self.assertEqual([row[0] for cells in (2, 3) for row in rows(self.page, cells)
                          if DEFINED.match(row[0].split(', ')[0]) and not row[1].endswith('.')], [])

    def test_what_sources_cite_is_defined(self):
        cited = [(path, one) for room in ROOMS for path in under(room, '.hpp', '.cpp') for one in RULE.findall(read(path))]
        cited += [(where, one) for where, comment in all_comments() for one in RULE.findall(comment)]
        self.assertGreater(len(cited), 400, 'the patterns do not find the comments')
        self.assertEqual([f'{where}: {one}' for where, one in cited if one not in self.ids], [], f'add these ids to {PAGE}')

    def test_what_comments_cite_of_edges_is_defined(self):
        cited = [(where, one) for where, comment in all_comments() if where.split(':')[0] not in OWN_EDGES
                 for one in BRACKETED.findall(comment) + BARE.findall(comment)]
        self.assertGreater(len(cited), 150, 'the patterns do not find the comments')
        self.assertEqual([f'{where}: {one}' for where, one in cited if one not in self.edges | NO_ID], [],
                         'no edges of protocol.md')

    def test_no_comment_is_an_id_without_words(self):
        self.assertEqual([f'{where}: {comment}' for where, comment in all_comments() if without_words(comment)], [])

    def test_what_names_of_tests_begin_with_is_defined(self):
        wrong = []
        for test in tests():
            ids = ids_of_test(test.split('.')[1])
            if ids is None or not self.defined.issuperset(ids):
                wrong.append(test)
        self.assertEqual(sorted(wrong), [], f'these begin with an id that is not in {PAGE}')

    def test_what_documents_cite_is_defined(self):
        documents = [*under('docs', '.md'), *(path for room in ROOMS for path in under(room, '.md')), 'README.md']
        self.assertGreater(len(documents), 40)
        self.assertEqual([f'{path}: {one}' for path in documents for one in RULE.findall(read(path))
                          if one not in self.defined], [])

    def test_each_test_that_a_document_names_exists(self):
        there = tests()
        suites = {name.split('.')[0] for name in there}
        documents = [*under('docs', '.md'), *(path for room in ROOMS for path in under(room, '.md')), 'README.md']
        named = [(path, name) for path in documents for name in re.findall(r'`([A-Z]\w+\.[A-Z]\w+)`', read(path))]
        self.assertGreater(len(named), 500, 'the pattern does not find the names')
        # Netty has `Class.CONSTANT` and `Class.Nested`, which are no tests.
        self.assertEqual([f'{path}: {name}' for path, name in named if name not in there
                          and (name.split('.')[0] in suites or len(re.findall(r'[A-Z][a-z]', name.split('.')[1])) > 1)], [])

    def test_each_test_that_the_page_names_exists(self):
        there, wrong, seen = tests(), [], 0
        self.assertGreater(len(there), 1000, 'the pattern does not find the tests')
        for row in rows(self.page, 3):
            for name in re.findall(r'`([^`]+)`', row[2]) if len(row) > 2 else []:
                seen += 1
                begins = name[:-1] if name.endswith('*') else None
                if not (any(test.startswith(begins) for test in there) if begins else name in there):
                    wrong.append(f'{row[0]}: {name}')
        self.assertGreater(seen, 100, 'the pattern does not find the names')
        self.assertEqual(wrong, [], f'{PAGE} names tests that are not there')

    def test_it_has_the_letters_of_the_edges(self):
        letters = re.findall(r'^\| ([A-Z]) \| ', self.page.split('## Edges of the memory model')[1], re.M)
        self.assertEqual(sorted(letters), sorted({edge[0] for edge in self.edges}))


if __name__ == '__main__':
    unittest.main()
