#!/usr/bin/env python3
"""Question: what does the same answer cost in nginx, which gives it from its configuration (`return 200`)?

Becomes an nginx of one process. nginx cannot say which port it took, so it must be told one. With --answer-ids
(response_varied) each answer has an id in a header, of 32 digits. With --tls (tls_plaintext) it makes itself a certificate.
"""

import os
import subprocess
import sys
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
        location = /plaintext { %s return 200 "Hello, World!"; }
        location / { return 404; }
    }
}
'''


def main():
    tls = '--tls' in sys.argv
    arguments = [each for each in sys.argv[1:] if each not in ('--answer-ids', '--tls')]
    if len(arguments) != 2 or arguments[0] != '--listen':
        sys.exit('usage: plaintext_nginx --listen ADDR:PORT [--answer-ids] [--tls]')
    header = 'add_header X-Request-Id $request_id;' if '--answer-ids' in sys.argv else ''
    prefix = os.path.join(tempfile.gettempdir(), f'weft-perf-nginx-{os.getuid()}')
    os.makedirs(prefix, exist_ok=True)
    configuration = os.memfd_create('nginx.conf', 0)
    secure = f'ssl; {certificate(prefix)} ssl_protocols TLSv1.3' if tls else ''
    os.write(configuration, (CONFIGURATION % (arguments[1], secure, header)).encode())
    os.environ['PATH'] = os.environ.get('PATH', '') + ':/usr/sbin'
    os.execvp('nginx', ['nginx', '-p', prefix, '-c', f'/proc/self/fd/{configuration}'])


def certificate(prefix):
    """The lines of the configuration for a certificate that is made in the directory `prefix`."""
    files = [os.path.join(prefix, name) for name in ('server.crt', 'server.key')]
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                    '-subj', '/CN=localhost', '-out', files[0], '-keyout', files[1]], check=True, stderr=subprocess.DEVNULL)
    return f'ssl_certificate {files[0]}; ssl_certificate_key {files[1]};'


if __name__ == '__main__':
    main()
