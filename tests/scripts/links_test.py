#!/usr/bin/env python3
"""Every relative link of a Markdown file leads to an existing file, every anchor to a heading, and each page that
a file mentions exists."""

import os
import re
import tempfile
import unittest
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r'\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)')
DEFINITION = re.compile(r'^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$', re.M)
MENTION = re.compile(r'\bdocs/[A-Za-z0-9_/-]+\.(?:md|svg)\b')
TEXTS = ('.md', '.hpp', '.cpp', '.h', '.S', '.py', '.txt', '.cmake', '.supp', '.awk', '.json', '')


def files(root):
    """Paths below root, except the output of builds."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders
                            if name not in ('.git', '__pycache__') and not (folder == root and name.startswith('build')))
        for name in sorted(names):
            yield os.path.join(folder, name)


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def without_code(text):
    """Text without fenced blocks, comments and inline code, none of which contain links."""
    text = re.sub(r'^( *)(```+|~~~+)[^\n]*\n.*?^ *\2[^\n]*$', '', text, flags=re.M | re.S)
    text = re.sub(r'<!--.*?-->', '', text, flags=re.S)
    return re.sub(r'(`+)(?:(?!\1).)+?\1', '', text, flags=re.S)


def anchors(text):
    """Anchors of a page's headings, by GitHub's rules."""
    text = re.sub(r'^( *)(```+|~~~+)[^\n]*\n.*?^ *\2[^\n]*$', '', text, flags=re.M | re.S)
    found, count = set(re.findall(r'<a (?:id|name)="([^"]+)"', text)), {}
    for heading in re.findall(r'^#{1,6} +(.+?)(?: +#+)? *$', text, re.M):
        heading = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading)
        anchor = re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
        number = count.get(anchor, 0)
        count[anchor] = number + 1
        found.add(f'{anchor}-{number}' if number else anchor)
    return found


def broken(root):
    """One line for each link that leads nowhere, with its file."""
    found = []
    for path in files(root):
        if not path.endswith('.md'):
            continue
        page = read(path)
        text = without_code(page)
        for target in LINK.findall(text) + DEFINITION.findall(text):
            if re.match(r'[a-z][a-z0-9+.-]*:', target):
                continue
            name, _, anchor = urllib.parse.unquote(target).partition('#')
            aim = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            here = f'{os.path.relpath(path, root)}: {target}'
            if os.path.commonpath((root, aim)) != root or not os.path.exists(aim):
                found.append(f'{here}: no such file')
            elif anchor and aim.endswith('.md') and anchor not in anchors(read(aim)):
                found.append(f'{here}: no such heading')
    return found


def vanished(root):
    """One line for each mention of a page that does not exist, with its file."""
    found = []
    for path in files(root):
        if os.path.splitext(path)[1] not in TEXTS or os.path.islink(path) or path == os.path.abspath(__file__):
            continue
        for mention in sorted(set(MENTION.findall(read(path)))):
            if not os.path.exists(os.path.join(root, mention)):
                found.append(f'{os.path.relpath(path, root)}: {mention}: no such page')
    return found


class Links(unittest.TestCase):
    def test_every_relative_link_and_anchor_leads_somewhere(self):
        self.assertEqual(broken(ROOT), [])

    def test_every_page_that_a_file_mentions_exists(self):
        self.assertEqual(vanished(ROOT), [])

    def test_the_index_lists_every_page(self):
        index = os.path.join(ROOT, 'docs', 'README.md')
        linked = {os.path.normpath(os.path.join(ROOT, 'docs', target.partition('#')[0]))
                  for target in LINK.findall(without_code(read(index)))}
        pages = {path for path in files(os.path.join(ROOT, 'docs')) if path.endswith('.md')}
        self.assertEqual({os.path.relpath(page, ROOT) for page in pages - linked - {index}}, set())


class TheTestItself(unittest.TestCase):
    """The checks find seeded errors."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = os.path.realpath(self.folder.name)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def test_a_link_to_a_missing_file_or_heading_is_found(self):
        self.write('README.md', '[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#more) [d](docs/a.md#less)\n[e](#top) # top\n')
        self.write('docs/a.md', '# Title\n\n## More\n\n[up](../README.md) [out](../../README.md)\n\n[ref]: b.svg\n')
        self.assertEqual(broken(self.root), ['README.md: docs/b.md: no such file',
                                             'README.md: docs/a.md#less: no such heading',
                                             'README.md: #top: no such heading',
                                             'docs/a.md: ../../README.md: no such file',
                                             'docs/a.md: b.svg: no such file'])

    def test_code_and_addresses_are_no_links(self):
        self.write('a.md', '`[](Channel&)` [x](https://example.org/a.md) [y](mailto:a@b)\n```cpp\n[](Channel&) {}\n# no\n```\n')
        self.assertEqual(broken(self.root), [])

    def test_anchors_are_those_of_github(self):
        self.assertEqual(anchors('# A `code`, and: more\n## Same\n## Same\n### [Link](x.md) - end\n```\n# no\n```\n'),
                         {'a-code-and-more', 'same', 'same-1', 'link---end'})

    def test_a_mention_of_a_missing_page_is_found(self):
        self.write('src/a.cpp', '// docs/gone.md section 1, docs/here.md.\n')
        self.write('docs/here.md', '')
        self.assertEqual(vanished(self.root), ['src/a.cpp: docs/gone.md: no such page'])


if __name__ == '__main__':
    unittest.main()
