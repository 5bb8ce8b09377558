# SPDX-License-Identifier: GPL-2.0-or-later
"""What test/rig/openstack runs with the programs of OpenStack:

    openstack_serve.py MODULE PORT              a service's WSGI application, by the name of its module
    openstack_serve.py stand-in PORT            instead of Glance (one image) and Neutron (empty lists)
    openstack_serve.py catalogue URL PASSWORD TYPE=URL...   puts services into Keystone's catalogue"""
import hashlib
import http.server
import importlib
import json
import socketserver
import sys
import urllib.request
import wsgiref.simple_server

IMAGE = "11111111-2222-4333-8444-555555555555"
DISK = b"\0" * 1048576
WORDS = ("id name status visibility container_format disk_format size min_ram min_disk owner checksum created_at "
         "updated_at tags protected file schema self").split()


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def address_string(self):
        return self.client_address[0]


class StandIn(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, path):
        if path.startswith("/v2/images/"):
            return {"id": IMAGE, "name": "nothing", "status": "active", "visibility": "public", "container_format": "bare",
                    "disk_format": "raw", "size": len(DISK), "min_ram": 0, "min_disk": 0, "owner": "x",
                    "checksum": hashlib.md5(DISK).hexdigest(), "created_at": "2026-01-01T00:00:00Z",
                    "updated_at": "2026-01-01T00:00:00Z", "tags": [], "protected": False, "self": path,
                    "file": path + "/file", "schema": "/v2/schemas/image"}
        if path == "/v2/images":
            return {"images": []}
        if path.startswith("/v2/schemas"):
            return {"name": "image", "properties": {w: {"type": "string"} for w in WORDS}}
        if path in ("/", "/v2.0", "/v2.0/"):
            return {"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]}
        if path.startswith("/v2.0/"):
            return {path.split("/")[2].split(".")[0].replace("-", "_"): []}
        return None

    def do_GET(self):
        path = self.path.split("?")[0]
        body, kind, status = DISK, "application/octet-stream", 200
        if not path.endswith("/file"):
            made = self.answer(path)
            status = 404 if made is None else 200
            body, kind = json.dumps(made or {}).encode(), "application/json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    do_DELETE = do_GET


def ask(url, token=None, body=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["X-Auth-Token"] = token
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
        return answer.headers, json.load(answer)


def catalogue(url, password, services):
    user = {"name": "admin", "domain": {"id": "default"}, "password": password}
    scope = {"project": {"name": "admin", "domain": {"id": "default"}}}
    headers, _ = ask(url + "/v3/auth/tokens", None, {"auth": {
        "identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}})
    token = headers["X-Subject-Token"]
    for kind, where in (s.split("=", 1) for s in services):
        _, made = ask(url + "/v3/services", token, {"service": {"type": kind, "name": kind}})
        for interface in ("public", "internal", "admin"):
            ask(url + "/v3/endpoints", token, {"endpoint": {"service_id": made["service"]["id"], "interface": interface,
                                                            "url": where, "region_id": "R1"}})


def main():
    what, rest = sys.argv[1], sys.argv[2:]
    del sys.argv[1:]  # the services read it
    if what == "catalogue":
        catalogue(rest[0], rest[1], rest[2:])
    elif what == "stand-in":
        http.server.ThreadingHTTPServer(("127.0.0.1", int(rest[0])), StandIn).serve_forever()
    else:
        application = importlib.import_module(what).application
        wsgiref.simple_server.make_server("127.0.0.1", int(rest[0]), application, server_class=Server,
                                          handler_class=Quiet).serve_forever()


main()
