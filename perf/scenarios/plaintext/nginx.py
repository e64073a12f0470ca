#!/usr/bin/env python3
"""Question: what does the same answer cost in nginx, which gives it from its configuration (`return 200`)?

Becomes an nginx of one process. nginx cannot say which port it took, so it must be told one. With --answer-ids
(response_varied) each answer has an id in a header, of 32 digits. With --tls (tls_*) it makes itself a certificate, with --rsa
one of RSA-2048, and with --body-bytes it answers from a file of that size.
"""

import argparse
import os
import subprocess
import tempfile

CONFIGURATION = '''
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events { worker_connections 16384; }
http {
    access_log off;
    server_tokens off;
    default_type text/plain;
    keepalive_timeout 3600;
    keepalive_requests 1000000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen %s backlog=4096 %s;
        location = /plaintext { %s %s }
        location / { return 404; }
    }
}
'''


def main():
    options = readOptions()
    header = 'add_header X-Request-Id $request_id;' if options.answer_ids else ''
    prefix = os.path.join(tempfile.gettempdir(), f'weft-perf-nginx-{os.getuid()}')
    os.makedirs(prefix, exist_ok=True)
    configuration = os.memfd_create('nginx.conf', 0)
    secure = f'ssl; {certificate(prefix, options.rsa)} ssl_protocols TLSv1.3' if options.tls else ''
    answer = CONFIGURATION % (options.listen, secure, header, body(prefix, options.body_bytes))
    os.write(configuration, answer.encode())
    os.environ['PATH'] = os.environ.get('PATH', '') + ':/usr/sbin'
    os.execvp('nginx', ['nginx', '-p', prefix, '-c', f'/proc/self/fd/{configuration}'])


def readOptions():
    parser = argparse.ArgumentParser(prog='plaintext_nginx')
    parser.add_argument('--listen', required=True, metavar='ADDR:PORT')
    parser.add_argument('--answer-ids', action='store_true')
    parser.add_argument('--tls', action='store_true')
    parser.add_argument('--rsa', action='store_true')
    parser.add_argument('--body-bytes', type=int, default=0, metavar='N')
    return parser.parse_args()


def certificate(prefix, rsa):
    """The lines of the configuration for a certificate that is made in the directory `prefix`."""
    files = [os.path.join(prefix, name) for name in ('server.crt', 'server.key')]
    kind = ['rsa:2048'] if rsa else ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    subprocess.run(['openssl', 'req', '-x509', '-newkey', *kind, '-nodes', '-days', '2', '-subj', '/CN=localhost',
                    '-out', files[0], '-keyout', files[1]], check=True, stderr=subprocess.DEVNULL)
    return f'ssl_certificate {files[0]}; ssl_certificate_key {files[1]};'


def body(prefix, size):
    """The line of the configuration for a body of `size` bytes; 0: of "Hello, World!"."""
    if size == 0:
        return 'return 200 "Hello, World!";'
    path = os.path.join(prefix, f'body-{size}')
    with open(path, 'w') as file:
        file.write('x' * size)
    return f'alias {path};'


if __name__ == '__main__':
    main()
