# SPDX-License-Identifier: GPL-2.0-or-later
"""Behaves as systemd with FileDescriptorStoreMax=: starts a program, keeps the descriptors
that it sends (FDSTORE=1), and hands them to the program's next start.
  fd_keeper.py FOLDER PROGRAM [ARGUMENT]...
FOLDER/pid has the process; after it has ended, FOLDER/again lets the next one start.
On SIGTERM it ends the program, and exits with its status."""
import os
import select
import signal
import socket
import sys

folder, argv = sys.argv[1], sys.argv[2:]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(folder + "/notify")
os.chmod(folder + "/notify", 0o777)
kept = {}
pid = 0


def take_messages(seconds):
    while select.select([manager], [], [], seconds)[0]:
        seconds = 0
        text, fds, _, _ = socket.recv_fds(manager, 4096, 16)
        fields = dict(l.split("=", 1) for l in text.decode().splitlines() if "=" in l)
        name = fields.get("FDNAME")
        if fields.get("FDSTORE") == "1" and fds:
            kept[name] = fds[0]
        elif fields.get("FDSTOREREMOVE") == "1":
            os.close(kept.pop(name))


def start_program():
    global pid
    names = sorted(kept)
    pid = os.fork()
    if pid == 0:
        high = [os.dup2(kept[n], 200 + i) for i, n in enumerate(names)]
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i, inheritable=True)
        os.closerange(3 + len(names), 300)
        os.environ["NOTIFY_SOCKET"] = folder + "/notify"
        if names:
            os.environ.update(
                LISTEN_PID=str(os.getpid()),
                LISTEN_FDS=str(len(names)),
                LISTEN_FDNAMES=":".join(names),
            )
        os.execv(argv[0], argv)
    with open(folder + "/pid.new", "w") as f:
        f.write(f"{pid}\n")
    os.rename(folder + "/pid.new", folder + "/pid")


def end_all(*_):
    if not pid:
        sys.exit(0)
    os.kill(pid, signal.SIGTERM)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


signal.signal(signal.SIGTERM, end_all)
start_program()
while True:
    take_messages(0.1)
    if pid and os.waitpid(pid, os.WNOHANG)[0]:
        pid = 0
        os.unlink(folder + "/pid")
    if not pid and os.path.exists(folder + "/again"):
        take_messages(0)
        os.unlink(folder + "/again")
        start_program()
