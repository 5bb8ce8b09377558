#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Stand-ins for what a test of ceems-k8s cannot have of the real thing, or not often enough:
#   k8s_node.py api PORT DIR      an API server that answers as DIR/mode says: ok, 500, 429, 403, 410, hang, garbage, cut, long;
#                                 its pods are the lines of DIR/pods (UID NAMESPACE NAME, and how many containers, if any, and what the first requests, if not 250m); DIR/asked has a line per request
#   k8s_node.py hang SOCKET       a socket that takes connections and never answers
#   k8s_node.py garbage SOCKET    one that answers what is not HTTP/2
#   k8s_node.py list PORT N       an API server for an aggregator: N pods in pages that are made beforehand, their namespaces, and
#                                 watches in which nothing happens
#   k8s_node.py large PORT N BYTES  the same, each pod with so many bytes of small objects, in pages as long as is asked for
#   k8s_node.py churn ROOT RATE SECONDS  folders like pods' control groups: RATE a second, each for a second
import http.server, json, os, socket, socketserver, sys, time, urllib.parse


def pod(line):
    uid, space, name, count, cpu = (line.split() + ["0", "250m"][max(0, len(line.split()) - 3):])[:5]
    return {"metadata": {"uid": uid, "namespace": space, "name": name, "resourceVersion": "7", "labels": {"pad": "x" * 60},
                         "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": "y" * 4000}}}]},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c%d" % k, "containerID": "containerd://%064x" % k,
                       "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}} for k in range(int(count))]}}


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


def stored_pod(i):
    return {"metadata": {"uid": "%08x-1111-4000-8000-000000000000" % i, "namespace": "team-%d" % (i % 1000), "name": "pod-%d" % i,
                         "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "7", "labels": {"pad": "x" * 60},
                         "annotations": {"ceems.io/created-by": "user-%d" % (i % 2000)}},
            "spec": {"nodeName": "n%d" % (i % 500), "containers": [{"name": "c%d" % k, "image": "registry.example/team/app:1.2.3",
                     "env": [{"name": "E%d" % e, "value": "v" * 20} for e in range(8)],
                     "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}} for k in range(2)]},
            "status": {"phase": "Running", "startTime": "2026-01-01T00:00:01Z",
                       "containerStatuses": [{"name": "c%d" % k, "containerID": "containerd://%064x" % (2 * i + k), "restartCount": 0,
                                              "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}} for k in range(2)]}}


def pages(items, size):
    """by their continue tokens"""
    cut = {}
    for at in range(0, max(len(items), 1), size):
        meta = {"resourceVersion": "9"}
        if at + size < len(items):
            meta["continue"] = "t%d" % (at + size)
        cut["t%d" % at if at else ""] = json.dumps({"metadata": meta, "items": items[at:at + size]}).encode()
    return cut


class Lists(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lists = {}

    def page(self, path, asked):
        return self.lists.get(path, pages([], 1)).get(asked.get("continue", ""), b"{}")

    def log_message(self, *args):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        if "watch" in asked:
            time.sleep(float(asked.get("timeoutSeconds", 1)))
            body = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}\n'
        else:
            body = self.page(url.path, asked)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Large(Lists):
    pods, env = 0, ""

    def page(self, path, asked):
        at, limit = int(asked.get("continue", "t0")[1:]), int(asked.get("limit", 500))
        items = [stored_pod(i) for i in range(at, min(at + limit, self.pods))] if path == "/api/v1/pods" else []
        for p in items:
            p["spec"]["containers"][0]["env"] = "ENV"
        meta = {"resourceVersion": "9", **({"continue": "t%d" % (at + limit)} if items and at + limit < self.pods else {})}
        return json.dumps({"metadata": meta, "items": items}).replace('"ENV"', self.env).encode()


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
elif what == "list":
    n = int(sys.argv[3])
    spaces = [{"metadata": {"uid": "ns-%d" % i, "name": "team-%d" % i, "creationTimestamp": "2025-01-01T00:00:00Z"}} for i in range(1000)]
    Lists.lists = {"/api/v1/pods": pages([stored_pod(i) for i in range(n)], 500), "/api/v1/namespaces": pages(spaces, 500)}
    server = Server(("127.0.0.1", int(sys.argv[2])), Lists)
    print("ready", flush=True)
    server.serve_forever()
elif what == "large":
    Large.pods, Large.env = int(sys.argv[3]), "[" + ",".join(['{"name":"A"}'] * (int(sys.argv[4]) // 13)) + "]"
    server = Server(("127.0.0.1", int(sys.argv[2])), Large)
    server.serve_forever()
elif what == "churn":
    churn(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    listen(sys.argv[2], os.urandom(5000) if what == "garbage" else None)
