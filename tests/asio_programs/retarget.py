#!/usr/bin/env python3
"""Replaces the type of the context in an Asio program, and changes nothing else.

  retarget.py [--values] OUT.cpp SOURCE...

Copies the folder of the sources beside OUT.cpp with weft::asio_io::Context in place of boost::asio::io_context, and
makes OUT.cpp include the sources. A context that is asked of an executor, which is an io_context&, is cast. --values leaves references to an io_context unchanged: functions that take one are
then called with a Context.
"""
import argparse
import pathlib
import re
import sys

# With its namespace, or without it where a variable is declared.
TYPE = re.compile(r'\b(?:boost::asio|asio|net)::io_context\b|(?<![\w:])io_context(?=\s+\w+\s*[;({])')
QUERY = re.compile(r'weft::asio_io::Context& (\w+) = (boost::asio::query\([^;]*\));')
VALUE = re.compile(rf'(?:{TYPE.pattern})(?!\s*&)')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--values', action='store_true')
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('sources', type=pathlib.Path, nargs='+')
    options = parser.parse_args()
    home = options.sources[0].parent
    copies = options.out.with_suffix('.sources')
    copies.mkdir(parents=True, exist_ok=True)
    exchanged = 0
    for file in [*home.glob('*.hpp'), *options.sources]:
        text, count = (VALUE if options.values else TYPE).subn('weft::asio_io::Context', file.read_text(encoding='utf-8'))
        text = QUERY.sub(r'auto& \1 = static_cast<weft::asio_io::Context&>(\2);', text)
        exchanged += count
        (copies / file.name).write_text(text, encoding='utf-8')
    if exchanged == 0:
        sys.exit(f'tests/asio_programs/retarget.py: {home} names no io_context')
    lines = ['#include <weft/asio_io/context.hpp>', *(f'#include "{copies.name}/{source.name}"' for source in options.sources)]
    options.out.write_text('\n'.join(lines) + '\n', encoding='utf-8')


sys.exit(main())
