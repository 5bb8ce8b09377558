# SPDX-License-Identifier: GPL-2.0-or-later
# A name service that knows one user: users.py systemd|sss SOCKET NAME UID. systemd: a service
# of nss-systemd (systemd's User/Group Record Lookup API via Varlink); sss: sssd as libnss_sss
# asks it (src/sss_client/sss_cli.h). Prints "ready"; ends when standard input does.
import json, os, socket, struct, sys, threading

kind, path, name, uid = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])


def read(c, n):
    data = b""
    while len(data) < n:
        more = c.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def serve_systemd(c):
    text = b""
    while not text.endswith(b"\0"):
        text += read(c, 1)
    q = json.loads(text[:-1])
    p = q.get("parameters", {})
    if q["method"].endswith("GetUserRecord") and (p.get("userName", name), p.get("uid", uid)) == (name, uid):
        record = {"userName": name, "uid": uid, "gid": uid, "service": os.path.basename(path)}
        answer = {"parameters": {"record": record, "incomplete": False}}
    else:
        answer = {"error": "io.systemd.UserDatabase.NoRecordFound", "parameters": {}}
    c.sendall(json.dumps(answer).encode() + b"\0")


def serve_sss(c):
    size, command, _, _ = struct.unpack("=4I", read(c, 16))
    body = read(c, size - 16)
    if command == 1:  # version
        answer = struct.pack("=I", 1)
    elif command == 0x11 and body.rstrip(b"\0").decode() == name:
        texts = (name, "x", "", "/", "/bin/false")
        answer = struct.pack("=4I", 1, 0, uid, uid) + b"".join(t.encode() + b"\0" for t in texts)
    else:
        answer = struct.pack("=2I", 0, 0)
    c.sendall(struct.pack("=4I", 16 + len(answer), command, 0, 0) + answer)


def serve(c):
    try:
        while True:
            (serve_systemd if kind == "systemd" else serve_sss)(c)
    except (EOFError, OSError):
        c.close()


def accept(s):
    while True:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()


s = socket.socket(socket.AF_UNIX)
s.bind(path)
os.chmod(path, 0o666)
s.listen(16)
threading.Thread(target=accept, args=(s,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
