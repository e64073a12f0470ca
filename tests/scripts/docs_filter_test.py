#!/usr/bin/env python3
"""docs/doxygen/filter on comments and pages as the sources have them."""

import importlib.machinery
import importlib.util
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
loader = importlib.machinery.SourceFileLoader('docs_filter', os.path.join(ROOT, 'docs', 'doxygen', 'filter'))
spec = importlib.util.spec_from_loader('docs_filter', loader)
docs_filter = importlib.util.module_from_spec(spec)
loader.exec_module(docs_filter)


def header(text):
    return docs_filter.Header('room/include/thing.hpp', text).translated()


def documented(text, declaration):
    """The documentation directly before `declaration`, or None."""
    before, found, _ = header(text).partition(declaration)
    assert found, f'{declaration} is not in the output'
    comment = re.search(r'/\*\* ((?:(?!\*/).)*?)\s*\*/\s*$', before, re.S)
    return comment and comment.group(1)


class DocsFilter(unittest.TestCase):
    def test_a_comment_before_a_declaration_documents_it(self):
        self.assertEqual(documented('\n// Sends it.\n// Never blocks.\nvoid send();\n', 'void send()'), 'Sends it. Never blocks.')

    def test_a_comment_to_the_right_documents_a_member_and_an_enumerator(self):
        self.assertEqual(documented('\nstruct S {\n    int a;  // bytes, below 9\n};\n', 'int a'), 'Bytes, below 9.')
        self.assertEqual(documented('\nenum E {\n    one,  // the first\n    two,\n};\n', 'one,'), 'The first.')

    def test_a_comment_to_the_right_may_go_on_in_the_next_line(self):
        text = '\nstruct S {\n    int a;  // one\n            // two\n    int b;\n};\n'
        self.assertEqual(documented(text, 'int a'), 'One two.')
        self.assertIsNone(documented(text, 'int b'))

    def test_a_comment_before_a_blank_line_documents_nothing(self):
        self.assertIsNone(documented('\n// About all of them.\n\nvoid send();\n', 'void send()'))

    def test_comments_in_bodies_document_nothing(self):
        text = '\nint f() {\n    // Why.\n    int a = 0;  // so\n    return a;\n}\nvoid g();\n'
        self.assertNotIn('/**', header(text))

    def test_the_head_of_the_file_is_the_brief_description_of_the_class_that_it_names(self):
        text = '// Thing: does it.\n#pragma once\n\n// Context: any thread.\nclass Thing {\n};\n'
        self.assertEqual(documented(text, 'class Thing'), 'Does it.  <p><b>%Context:</b> any thread.')
        self.assertIn('@file room/include/thing.hpp Thing: does it.', header(text))

    def test_an_overload_in_the_next_line_shares_the_documentation(self):
        text = '\n// Sends it.\nvoid send(int a);\nvoid send(long b);\nvoid take();\n\nvoid send(char c);\n'
        self.assertEqual(documented(text, 'void send(long'), 'Sends it.')
        self.assertIsNone(documented(text, 'void take'))
        self.assertIsNone(documented(text, 'void send(char'))

    def test_private_members_and_detail_are_left_out(self):
        text = 'class C {\n  public:\n    void f() { g({1}); }\n\n  private:\n    void g();\n};\n' \
               'namespace detail {\nclass D {\n  public:\n    void h();\n};\n}\nvoid i();\n'
        output = header(text)
        self.assertIn('void f()', output)
        self.assertIn('void i()', output)
        for name in ('void g()', 'class D', 'void h()', 'detail'):
            self.assertNotIn(name, output)

    def test_a_public_base_in_detail_is_kept(self):
        text = 'namespace detail {\nclass Base {\n  public:\n    void f();\n};\nclass Other {\n};\n}\nclass C : public detail::Base {\n};\n'
        output = header(text)
        self.assertIn('void f()', output)
        self.assertNotIn('Other', output)

    def test_a_heading_groups_the_members_up_to_the_next_one(self):
        text = 'class C {\n  public:\n    // ---- state ----\n    // Is it open?\n    bool open();\n\n  private:\n    int a;\n};\n'
        output = header(text)
        self.assertIn('/** @name State */ /** @{ */', output)
        self.assertEqual((output.count('@{'), output.count('@}')), (1, 1))
        self.assertEqual(documented(text, 'bool open'), 'Is it open?')

    def test_indented_lines_are_code(self):
        text = '\n// So:\n//     f(a);\n//     g();  // now\n// Done.\nvoid f();\n'
        self.assertIn('So:\n@code{.cpp}\nf(a);\ng();  // now @endcode Done.', header(text))

    def test_a_specialisation_is_a_class(self):
        text = '\ntemplate <class R, class... Args>\nclass F<R(Args...)> {\n  public:\n    // Calls it.\n    R call();\n\n  private:\n    int a;\n};\n'
        self.assertEqual(documented(text, 'R call'), 'Calls it.')
        self.assertNotIn('int a', header(text))

    def test_what_doxygen_would_take_for_its_own_is_escaped(self):
        text = '\n// A <name> at 5 % of a_ or ::b, as "#c\\n".\nvoid f();\n'
        self.assertEqual(documented(text, 'void f'), r'A \<name\> at 5 \% of a\_ or \::b, as &quot;\#c\\n&quot;.')

    def test_every_line_keeps_its_number(self):
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in ('.git', 'build')]
            for name in names:
                if not name.endswith('.hpp') or '/include/' not in folder:
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                self.assertEqual(header(text).count('\n'), text.count('\n'), path)

    def test_links_of_pages_become_references(self):
        page = docs_filter.markdown('docs/README.md', '# Documents\n\n## Two words\n\nSee [this](#two-words), [README](../README.md#status),\n'
                                    '[a source](../CMakeLists.txt), [elsewhere](https://example.org) and `[](int error)`.\n')
        self.assertIn('# Documents {#page_docs_README}\n', page)
        self.assertIn('## Two words {#page_docs_README_two-words}\n', page)
        self.assertIn('@ref page_docs_README_two-words "this", @ref mainpage_status "README",\na source, '
                      '[elsewhere](https://example.org) and `[](int error)`.', page)

    def test_links_whose_label_is_code_are_links_too(self):
        page = docs_filter.markdown('docs/README.md', 'See [`main.cpp`](../src/main.cpp), [`README`](../README.md) and `[` or\n'
                                    '[`elsewhere`](https://example.org).\n')
        self.assertIn('See `main.cpp`, @ref mainpage "README" and `[` or\n[elsewhere](https://example.org).', page)


if __name__ == '__main__':
    unittest.main()
