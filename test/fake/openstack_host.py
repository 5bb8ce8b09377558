#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers as Keystone and Nova did when they were recorded (test/fixture/openstack, by test/e2e/openstack_real.sh):

    openstack_host.py PORT FIXTURE STATE [SERVERS [ROLES]]

A stand-in, for speed and for what a real Nova does not do when it is asked to. STATE is a folder: `servers` has the
servers that there are, one JSON object in a line, at first those recorded (or SERVERS of their kind, made up);
`roles` Keystone's answer of role assignments (or of as many ROLES made up); `fault` what is wrong with every answer
of Nova (roles: of Keystone), while it exists:

    half           the body ends in its middle        500, 401   that status
    429 [SECONDS]  that status, with Retry-After      hang       no answer
    types          other types than Nova's            names      names of 10 MB
    gone           each marker is gone when it is asked for the first time
    silent         those with `"silent": true` are stubs, as of a cell that does not answer
    ends           a token is good for one page
    second         no answer for a page of the whole list behind the first
    unlisted       these are not in the list at all, as before microversion 2.69
    roles          the role assignments end in their middle

`clock` has the seconds by which the Date is off, `lifetime` those that a token lasts; `log` gets a line for each request."""
import http.server
import json
import os
import re
import shutil
import sys
import time
import urllib.parse

PORT, FIXTURE, STATE = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MAX = 1000  # of a page, as Nova's max_limit
tokens, asked = {}, set()
made = {"pages": {}}


def recorded(name):
    with open(os.path.join(FIXTURE, name), encoding="utf-8") as f:
        return json.load(f)


def state(name, default=None):
    try:
        with open(os.path.join(STATE, name), encoding="utf-8") as f:
            return f.read().strip()
    except FileNotFoundError:
        return default


def now(shift=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + shift))


def servers():
    """those of the file, read again when it has changed"""
    path = os.path.join(STATE, "servers")
    stamp = os.stat(path).st_mtime_ns
    if made.get("stamp") != stamp:
        with open(path, encoding="utf-8") as f:
            made["servers"] = [json.loads(line) for line in f]
        made["at"] = {s["id"]: i for i, s in enumerate(made["servers"])}
        made["stamp"] = stamp
        made["pages"] = {}
    return made["servers"]


def stub(s):
    return {k: s[k] for k in ("id", "tenant_id", "user_id", "created", "flavor") if k in s} | {"status": "UNKNOWN"}


def shown(s, fault):
    s = {k: v for k, v in s.items() if k != "silent"} if not (s.get("silent") and fault == "silent") else stub(s)
    if fault == "types":
        return {"id": [s["id"]], "name": {}, "user_id": 7, "tenant_id": None, "status": False, "flavor": "small"}
    if fault == "names":
        s["name"] = "n" * (10 << 20)
    return s


def page(query, fault):
    limit = min(int(query.get("limit", [MAX])[0]), MAX)
    marker, since = query.get("marker", [""])[0], query.get("changes-since", [None])[0]
    key = (limit, marker, since, fault)
    if not since and not fault and key in made["pages"]:
        return made["pages"][key]
    every = servers()
    first = 0
    if marker:
        if marker not in made["at"] or (fault == "gone" and marker not in asked):
            asked.add(marker)
            return 400, {"badRequest": {"code": 400, "message": f"marker [{marker}] not found"}}
        first = made["at"][marker] + 1
    wanted = [s for s in every[first:] if (s.get("updated", "") >= since if since else s["status"] != "DELETED")
              and not (s.get("silent") and fault == "unlisted")]
    body = {"servers": [shown(s, fault) for s in wanted[:limit]]}
    if len(wanted) > limit:
        body["servers_links"] = [{"rel": "next", "href": f"http://elsewhere/servers/detail?marker={wanted[limit - 1]['id']}"}]
    if fault == "types":
        body = {"servers": body["servers"], "servers_links": 5}
    return 200, body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        with open(os.path.join(STATE, "log"), "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path}\n")

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + float(state("clock", 0)))

    def answer(self, status, body, half=False, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[:len(data) // 2] if half else data)
        self.close_connection = half

    def answer_roles(self, half):
        path = os.path.join(STATE, "roles")
        with open(path if os.path.exists(path) else os.path.join(FIXTURE, "roles.json"), "rb") as f:
            size = os.fstat(f.fileno()).st_size
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(size))
            self.end_headers()
            if half:
                self.wfile.write(f.read(size // 2))
            else:
                shutil.copyfileobj(f, self.wfile)
        self.close_connection = half

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = recorded("token.json")
        lifetime = int(state("lifetime", 3600))
        body["token"]["issued_at"], body["token"]["expires_at"] = now(), now(lifetime)
        for service in body["token"]["catalog"]:
            for e in service["endpoints"]:
                e["url"] = f"http://127.0.0.1:{PORT}/v2.1"
        token = f"token-{len(tokens)}"
        tokens[token] = time.time() + lifetime
        self.answer(201, body, headers=[("X-Subject-Token", token)])

    def do_GET(self):
        at = urllib.parse.urlsplit(self.path)
        fault = state("fault", "")
        if tokens.get(self.headers.get("X-Auth-Token"), 0) < time.time():
            return self.answer(401, {"error": {"code": 401}})
        if at.path == "/v3/role_assignments":
            return self.answer_roles(fault == "roles")
        if fault == "hang" or (fault == "second" and "marker=" in at.query and "changes-since" not in at.query):
            time.sleep(600)
        if fault.startswith("429"):
            return self.answer(429, {}, headers=[("Retry-After", fault[3:].strip() or "1")])
        if fault in ("500", "401"):
            return self.answer(int(fault), {"computeFault": {"code": int(fault)}})
        if at.path == "/v2.1/":
            return self.answer(200, recorded("version.json"))
        if at.path == "/v2.1/servers/detail":
            query = urllib.parse.parse_qs(at.query)
            status, body = page(query, fault)
            if fault == "ends":
                tokens[self.headers["X-Auth-Token"]] = 0
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            if status == 200 and "changes-since" not in query and not fault and "SERVERS" in made:
                key = (min(int(query.get("limit", [MAX])[0]), MAX), query.get("marker", [""])[0], None, fault)
                made["pages"][key] = 200, body
            return self.answer(status, body, half=fault == "half")
        found = re.fullmatch(r"/v2\.1/servers/([0-9a-f-]{36})", at.path)
        servers()
        i = made["at"].get(found[1]) if found else None
        if i is None or made["servers"][i]["status"] == "DELETED":
            return self.answer(404, {"itemNotFound": {"code": 404}})
        if fault == "unlisted" and made["servers"][i].get("silent"):
            return self.answer(500, {"computeFault": {"code": 500}})
        return self.answer(200, {"server": shown(made["servers"][i], fault)}, half=fault == "half")


def make_up(n):
    """n servers of the kind of the first that was recorded, of n / 50 projects"""
    one = recorded("servers.json")["servers"][0]
    for i in range(n):
        yield one | {"id": f"{i:08x}-0000-4000-8000-{i:012x}", "name": f"server-{i}", "tenant_id": f"{i // 50:032x}",
                     "user_id": f"{i // 20:032x}"}


def make_up_roles(n):
    """n assignments to users of the made-up servers, as Keystone writes them"""
    for i in range(n):
        user, project = f"{i % 5000:032x}", f"{i // 5000:032x}"
        yield {"links": {"assignment": f"http://127.0.0.1:{PORT}/v3/projects/{project}/users/{user}/roles/{1:032x}"},
               "scope": {"project": {"id": project, "name": f"project-{i // 5000}", "domain": {"id": "default", "name": "Default"}}},
               "user": {"id": user, "name": f"user-{i % 5000}", "domain": {"id": "default", "name": "Default"}},
               "role": {"id": f"{1:032x}", "name": "member"}}


os.makedirs(STATE, exist_ok=True)
if len(sys.argv) > 5:
    with open(os.path.join(STATE, "roles"), "w", encoding="utf-8") as out:
        out.write('{"role_assignments": [')
        for nth, assignment in enumerate(make_up_roles(int(sys.argv[5]))):
            out.write((", " if nth else "") + json.dumps(assignment))
        out.write('], "links": {"next": null, "self": "http://127.0.0.1/v3/role_assignments", "previous": null}}')
if not os.path.exists(os.path.join(STATE, "servers")):
    many = make_up(int(sys.argv[4])) if len(sys.argv) > 4 else recorded("servers.json")["servers"]
    with open(os.path.join(STATE, "servers"), "w", encoding="utf-8") as out:
        for server in many:
            out.write(json.dumps(server) + "\n")
if len(sys.argv) > 4:  # the pages are made before they are asked for: it is not this program that is measured
    made["SERVERS"] = True
    last = ""
    for _ in range(0, int(sys.argv[4]) + MAX, MAX):
        _, b = page({"limit": [str(MAX)]} | ({"marker": [last]} if last else {}), "")
        made["pages"][(MAX, last, None, "")] = 200, json.dumps(b).encode()
        if not b.get("servers_links"):
            break
        last = b["servers"][-1]["id"]
print("ready", flush=True)
http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
