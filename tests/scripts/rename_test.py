#!/usr/bin/env python3
"""scripts/rename brings old programs to the names of today, and knows each name of the table in CHANGELOG.md."""

import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

OLD = '''#include <weft/pipeline/outbound_buffer.hpp>
#include <weft/pipeline/http/server_codec.hpp>
#include <weft/framework/http/client.hpp>
struct NumberEncoder final : MessageToByteEncoder<std::uint32_t> {
    void encode(ChannelHandlerContext&, std::uint32_t& number, Buffer& out) override {
        out.write<std::uint32_t>(number);
    }
};
struct NumberDecoder final : ByteToMessageDecoder {
    void decode(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) override;
};
struct Sink final : weft::ChannelSink {
    void flush(weft::OutboundBuffer& outbound) override;
};
int myOutboundBuffer, OutboundBuffers;
'''
NEW = '''#include <weft/pipeline/channel_output.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/http/client.hpp>
struct NumberEncoder final : MessageToByteEncoder<std::uint32_t> {
    void encode(ChannelHandlerContext&, std::uint32_t& number, ChannelOutput& out) override {
        out.write<std::uint32_t>(number);
    }
};
struct NumberDecoder final : ByteToMessageDecoder {
    void decode(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) override;
};
struct Sink final : weft::ChannelSink {
    void flush(weft::ChannelOutput& outbound) override;
};
int myOutboundBuffer, OutboundBuffers;
'''


def rename(*arguments):
    done = subprocess.run([os.path.join(ROOT, 'scripts/rename'), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


class Rename(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text, name='program.cpp'):
        path = os.path.join(self.folder.name, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def read(self, path):
        with open(path, encoding='utf-8') as file:
            return file.read()

    def test_an_old_program_gets_the_new_names_once(self):
        path = self.file(OLD)
        status, output = rename(self.folder.name)
        self.assertEqual(status, 0)
        self.assertRegex(output, rf'^{re.escape(path)}: 5 lines changed\n{re.escape(path)}:5: look at what this encoder does: .*\n$')
        self.assertEqual(self.read(path), NEW)
        self.assertEqual(rename(self.folder.name), (0, ''))

    def test_a_dry_run_changes_nothing(self):
        path = self.file(OLD)
        self.assertEqual(rename('--dry', path)[0], 0)
        self.assertEqual(self.read(path), OLD)

    def test_what_a_person_has_to_change_is_listed_with_advice(self):
        path = self.file('bool b = sink.supportsDirectWrite();\n')
        self.assertEqual(rename(path), (1, f'{path}:1: remove it: a sink gets all bytes in flush()\n'))

    def test_a_class_derived_from_the_system_calls_is_listed(self):
        path = self.file('struct Scripted final : SystemCalls {\nstruct Other : SystemCallHook {\n')
        self.assertEqual(rename(path), (1, f'{path}:1: derive it from SystemCallHook, and pass SystemCalls(hook) to the I/O handler\n'))

    def test_a_timed_task_of_a_context_is_listed_if_its_delay_comes_first(self):
        path = self.file('ctx.schedule(1ms, [] {});\nctx.schedule([] {}, 1ms);\n')
        self.assertEqual(rename(path), (1, f'{path}:1: give the function first: ctx.schedule(fn, delay)\n'))

    def test_an_outbound_operation_of_a_pipeline_is_listed(self):
        path = self.file('ctx.pipeline().close();\nctx.pipeline().remove("x");\n')
        self.assertEqual(rename(path), (1, f'{path}:1: call it on the channel: channel.write(...), ctx.channel().close()\n'))

    def test_what_stays_as_it_was_in_an_encoder_is_listed(self):
        path = self.file('''    void encode(ChannelHandlerContext & ctx, std::map<int, int>& numbers, Buffer& out) final {
    void encode(Context& ctx, std::string& text, Buffer& out) override {
    std::size_t expectedBytes(const std::string&) const final;
''')
        status, output = rename(path)
        self.assertEqual(status, 1)
        self.assertIn('ChannelHandlerContext & ctx, std::map<int, int>& numbers, ChannelOutput& out', self.read(path))
        self.assertIn(f'{path}:2: the last parameter', output)
        self.assertIn(f'{path}:3: remove it: an encoder', output)

    def test_only_folders_of_builds_are_left_out(self):
        for folder, changed in (('builder', True), ('build', False), ('build-debug', False)):
            os.mkdir(os.path.join(self.folder.name, folder))
            path = self.file('OutboundBuffer x;', f'{folder}/program.cpp')
            rename(self.folder.name)
            self.assertEqual('ChannelOutput' in self.read(path), changed, folder)

    def test_other_files_and_absent_ones(self):
        self.file('OutboundBuffer', 'notes.txt')
        self.assertEqual(rename(self.folder.name), (0, ''))
        self.assertIn('there is no such file or folder', rename(os.path.join(self.folder.name, 'absent'))[1])

    def test_each_old_name_of_the_table_is_known(self):
        changelog = self.read(os.path.join(ROOT, 'CHANGELOG.md'))
        table = changelog[changelog.index('\n### Names that have changed'):].split('\n### ')[1]
        script = self.read(os.path.join(ROOT, 'scripts/rename'))
        rows = [row.split(' | ')[0] for row in table.splitlines() if row.startswith('| `')]
        self.assertGreater(len(rows), 3)
        self.assertEqual([row for row in rows if not any(name in script for name in re.findall(r'\w{5,}', row))], [])


if __name__ == '__main__':
    unittest.main()
