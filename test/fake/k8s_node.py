#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Stand-ins for what a test of ceems-k8s cannot have of the real thing, or not often enough:
#   k8s_node.py api PORT DIR      an API server that answers as DIR/mode says: ok, 500, 429, 403, 410, hang, garbage, cut, long;
#                                 its pods are the lines of DIR/pods (UID NAMESPACE NAME); DIR/asked has a line per request
#   k8s_node.py hang SOCKET       a socket that takes connections and never answers
#   k8s_node.py garbage SOCKET    one that answers what is not HTTP/2
#   k8s_node.py churn ROOT RATE SECONDS  folders like pods' control groups: RATE a second, each for a second
import http.server, json, os, socket, socketserver, sys, time


def pod(line):
    uid, space, name = line.split()
    return {"metadata": {"uid": uid, "namespace": space, "name": name, "resourceVersion": "7", "labels": {"pad": "x" * 60},
                         "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": "y" * 4000}}}]},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}}]},
            "status": {"phase": "Running"}}


class Api(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def mode(self):
        with open(self.server.dir + "/mode") as f:
            return f.read().strip()

    def refuse(self, status, headers=()):
        self.send_response(status)
        for h in headers:
            self.send_header(*h)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def event(self, kind, obj):
        self.wfile.write(json.dumps({"type": kind, "object": obj}).encode() + b"\n")
        self.wfile.flush()

    def do_GET(self):
        mode = self.mode()
        with open(self.server.dir + "/asked", "a") as f:
            f.write("%s %s %s\n" % (mode, self.path, self.headers.get("Authorization", "-")))
        if mode == "hang":
            time.sleep(3600)
        if mode in ("500", "403"):
            return self.refuse(int(mode))
        if mode == "429":
            return self.refuse(429, [("Retry-After", "2")])
        self.send_response(200)
        self.end_headers()
        if mode == "garbage":
            self.wfile.write(b"<html>{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}{}{{{{]]]\"" + os.urandom(20000))
            return
        if mode == "long":
            self.wfile.write(b'{"type":"ADDED","object":{"x":"' + b"z" * (4 << 20) + b'"}}\n')
            return
        if mode == "410":
            return self.event("ERROR", {"kind": "Status", "code": 410})
        with open(self.server.dir + "/pods") as f:
            lines = f.read().splitlines()
        if "resourceVersion=0" in self.path:
            for line in lines:
                self.event("ADDED", pod(line))
        if mode == "cut":
            self.wfile.write(json.dumps({"type": "ADDED", "object": pod(lines[0])})[:200].encode())
            return
        self.event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
        while self.mode() == mode:
            time.sleep(0.1)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def listen(path, answer):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(64)
    kept = []
    while True:
        c, _ = s.accept()
        kept.append(c)
        if answer:
            c.send(answer)


def churn(root, rate, seconds):
    made, n, begin = [], 0, time.monotonic()
    while n < rate * seconds or made:
        now = time.monotonic()
        while n < rate * seconds and n < (now - begin) * rate:
            path = "%s/pod%08x-0000-4000-8000-000000000000" % (root, n)
            os.mkdir(path)
            os.mkdir(path + "/c")
            made.append((now + 1, path))
            n += 1
        while made and made[0][0] <= now:
            path = made.pop(0)[1]
            os.rmdir(path + "/c")
            os.rmdir(path)
        time.sleep(0.005)
    print(n)


what = sys.argv[1]
if what == "api":
    server = Server(("127.0.0.1", int(sys.argv[2])), Api)
    server.dir = sys.argv[3]
    server.serve_forever()
elif what == "churn":
    churn(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    listen(sys.argv[2], os.urandom(5000) if what == "garbage" else None)
