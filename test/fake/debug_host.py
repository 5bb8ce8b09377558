#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that is asked for debug files and does not behave as debuginfod(8) does.

    debug_host.py PORT LOG [CERT KEY]

What it does is in the build id's first byte (BEHAVIOURS). Each path that is asked for is a line of LOG."""
import http.server
import ssl
import sys
import time

ELF = b"\x7fELF" + bytes(range(256)) * 16


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def whole(self, body=ELF, status=200, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def hang(self):
        time.sleep(100)

    def hang_within(self):
        self.send_response(200)
        self.send_header("Content-Length", "10000")
        self.end_headers()
        self.wfile.write(ELF)
        self.wfile.flush()
        time.sleep(100)

    def cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(ELF)
        self.close_connection = True

    def endless(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(100000):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(ELF), ELF))

    def no_end(self):
        self.protocol_version = "HTTP/1.0"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ELF)
        self.close_connection = True

    def chunks(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(ELF), 1000):
            part = ELF[at:at + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        with open(sys.argv[2], "a", encoding="ascii") as log:
            log.write(self.path + "\n")
        byte = self.path.split("/")[2][:2] if self.path.startswith("/buildid/") else "a0"
        here = f"http://127.0.0.1:{sys.argv[1]}"
        try:
            {
                "a0": self.whole,
                "a1": self.chunks,
                "b0": lambda: self.whole(b"not here", 404),
                "b1": lambda: self.whole(ELF * 1000),
                "b2": self.endless,
                "c0": self.hang,
                "c1": self.hang_within,
                "c2": self.cut,
                "c3": self.no_end,
                "c4": lambda: self.whole(b"<html>Please log in</html>"),
                "c5": lambda: self.whole(b""),
                "c6": lambda: self.whole(b"oops", 500),
                "c7": lambda: self.whole(ELF, 206),
                "c8": lambda: self.whole(**{f"X-{i}": "x" * 1000 for i in range(200)}),
                "d0": lambda: self.whole(b"", 302, Location=here + "/elsewhere"),
                "d1": lambda: self.whole(b"", 302, Location="file:///etc/passwd"),
                "d2": lambda: self.whole(b"", 302, Location=f"http://127.0.0.2:{sys.argv[1]}/other"),
                "d3": lambda: self.whole(b"", 302, Location=here + self.path),
                "e0": lambda: self.whole(b"busy", 503),
            }[byte]()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


server = http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
