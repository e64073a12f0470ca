#!/usr/bin/env python3
"""docs/reference/configuration.md lists every environment variable that the code reads, every option, and every flag of
http_server."""

import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ('scheduler', 'pipeline', 'transports', 'framework', 'examples', 'tests')
# Struct, header, and how the page must show its fields.
OPTIONS = {
    'CarrierOptions': 'scheduler/include/weft/scheduler/carrier_options.hpp',
    'CarrierWatchdogOptions': 'scheduler/include/weft/scheduler/carrier_watchdog.hpp',
    'BlockingPoolOptions': 'scheduler/include/weft/scheduler/blocking_pool.hpp',
    'SpawnOptions': 'scheduler/include/weft/scheduler/spawn_options.hpp',
    'EventLoopGroupOptions': 'framework/include/weft/framework/event_loop_group.hpp',
    'Options': 'scheduler/include/weft/scheduler/event_loop.hpp',
    'ChannelOption': 'pipeline/include/weft/pipeline/channel_option.hpp',
    'ServerCodecOptions': 'pipeline/http/include/weft/http/server_codec.hpp',
    'ServerTimeouts': 'pipeline/http/include/weft/http/server_timeouts.hpp',
    'Limits': 'pipeline/http/include/weft/http/limits.hpp',
    'ClientOptions': 'framework/http/include/weft/http/client_options.hpp',
    'RequestOptions': 'framework/http/include/weft/http/client_options.hpp',
    'SslServerOptions': 'transports/tls/include/weft/tls/ssl_context.hpp',
    'SslClientOptions': 'transports/tls/include/weft/tls/ssl_context.hpp',
    'ResolverOptions': 'framework/include/weft/framework/thread_pool_resolver.hpp',
}
READ = re.compile(r'(?:getenv|environment|environ\.get)\s*[(\[]\s*["\'](WEFT_[A-Z0-9_]+)["\']'
                  r'|number\([^;]*?"(WEFT_[A-Z0-9_]+)"'
                  r'|constexpr const char\* \w+ = "(WEFT_[A-Z0-9_]+)"')


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def variables_read():
    found = set()
    for room in ROOMS:
        for kind in ('cpp', 'hpp', 'py'):
            for path in glob.glob(os.path.join(ROOT, room, '**', '*.' + kind), recursive=True):
                if path != os.path.abspath(__file__):
                    found.update(name for names in READ.findall(read(path)) for name in names if name)
    return found


def without_comments(text):
    return re.sub(r'//[^\n]*', '', text)


def fields(text, struct):
    """Names of the data members of `struct`: the words before '=', ';' or '{' in the statements of its body."""
    body = re.search(rf'struct {struct}(?: final)?(?: : [\w:]+)? \{{(.*?)\n *\}};', without_comments(text), re.S).group(1)
    found = set()
    for statement in body.split(';'):
        statement = re.sub(r'<[^<>]*>', '', re.sub(r'<[^<>]*>', '', ' '.join(statement.split())))
        match = re.match(r'(?:static constexpr )?[\w:]+[ *]+(\w+)(?: ?[={].*)?$', statement)
        if match and not statement.startswith(('void ', 'using ')):
            found.add(match.group(1))
    return found


def flags(text):
    return set(re.findall(r'"(--[a-z-]+)"', text))


class Configuration(unittest.TestCase):
    def setUp(self):
        self.page = read('docs', 'reference', 'configuration.md')

    def missing(self, names):
        return sorted(name for name in names if not re.search(rf'`{re.escape(name)}[` ]', self.page))

    def test_every_variable_that_the_code_reads_is_there(self):
        found = variables_read()
        self.assertGreater(len(found), 20)
        self.assertLessEqual({'WEFT_CARRIERS', 'WEFT_TOPOLOGY', 'WEFT_TRACE_EVENTS', 'WEFT_SHUFFLE_SEED', 'WEFT_TRANSPORT',
                              'WEFT_LEAK_DETECTION', 'WEFT_TSAN_NO_SYNC', 'WEFT_SOAK_TIMEOUT'}, found)
        self.assertEqual(self.missing(found), [])

    def test_every_variable_that_the_page_lists_is_read(self):
        listed = set(re.findall(r'^\|.*?`(WEFT_[A-Z0-9_]+)` \|', self.page, re.M))
        self.assertGreater(len(listed), 20)
        self.assertEqual(sorted(listed - variables_read()), [])

    def test_every_option_is_there(self):
        for struct, header in OPTIONS.items():
            with self.subTest(struct=struct):
                found = fields(read(header), struct)
                self.assertGreater(len(found), 2)
                self.assertEqual(self.missing(found), [])

    def test_every_flag_of_the_http_server_is_there(self):
        found = flags(read('examples', 'support', 'program.hpp')) | flags(read('examples', 'http_server', 'main.cpp'))
        self.assertGreater(len(found), 10)
        self.assertEqual(self.missing(found), [])


class TheTestItself(unittest.TestCase):
    def test_fields_are_those_of_the_struct(self):
        text = '''struct Other { int no; };
        struct Some : Base {
            std::string name = "a";  // one; two
            std::optional<std::chrono::microseconds>
                split;
            std::shared_ptr<const Thing> thing;
            Duration braced{30};
            static constexpr Typed<Nested<bool>> FIXED{"FIXED", &Other::no};
            void validate() const;
        };
        int after;'''
        self.assertEqual(fields(text, 'Some'), {'name', 'split', 'thing', 'braced', 'FIXED'})

    def test_reads_are_found(self):
        for text in ('std::getenv("WEFT_X")', 'environment("WEFT_X")', "os.environ.get('WEFT_X', 3)",
                     'number("carriers", options.carriers,\n    "WEFT_X", {1, 2})', 'constexpr const char* name = "WEFT_X";'):
            self.assertEqual([name for names in READ.findall(text) for name in names if name], ['WEFT_X'], text)


if __name__ == '__main__':
    unittest.main()
