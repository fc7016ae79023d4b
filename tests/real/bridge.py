"""A raw bridge for tests: streamable HTTP in front of a stdio server, message by message, the bytes
as they are, since the conformance suite speaks HTTP alone.

    bridge.py PORT PROGRAM [ARGUMENT]...

Prints its port; 0 takes a free one. Each `initialize` starts a process of its own, named by
Mcp-Session-Id; what comes without a session (the 2026-07-28 era, which has none) shares one.
Judges nothing.
"""
import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, ARGV = int(sys.argv[1]), sys.argv[2:]
LIMIT = 20


class Child:
    """A server process; every message of its own goes to the streams that are open."""

    def __init__(self):
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(ARGV, stdin=pipe, stdout=pipe, stderr=nowhere)
        self.lock = threading.Lock()
        self.waiting, self.streams, self.ended = {}, [], False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            line = line.rstrip(b"\n")
            try:
                message = json.loads(line)
            except ValueError:
                continue
            with self.lock:
                answers = "method" not in message
                asked = self.waiting.pop(json.dumps(message.get("id")), None) if answers else None
                # What answers nothing goes to who asked last.
                for stream in [asked] if asked else self.streams[-1:]:
                    stream.put(line)
        with self.lock:
            self.ended = True
            for stream in list(self.waiting.values()) + self.streams:
                stream.put(None)

    def send(self, line):
        try:
            self.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass


SESSIONS, SHARED, STARTING = {}, [], threading.Lock()


def child(session, message):
    with STARTING:
        if message is not None and message.get("method") == "initialize":
            session = uuid.uuid4().hex
            SESSIONS[session] = Child()
        if session:
            return session, SESSIONS.get(session)
        if not SHARED or SHARED[-1].ended:
            SHARED.append(Child())
        return None, SHARED[-1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def plain(self, status, body=b"", kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, session, mailbox, until):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        while True:
            line = mailbox.get(timeout=LIMIT)
            if line is None:
                break
            event = b"event: message\ndata: " + line + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
            message = json.loads(line)
            if until is not None and "method" not in message and message.get("id") == until:
                break
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            message = json.loads(body)
        except ValueError:
            return self.plain(400)
        first = message if isinstance(message, dict) else None
        session, server = child(self.headers.get("Mcp-Session-Id"), first)
        if server is None:
            return self.plain(404)
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            server.send(body)
            return self.plain(202)
        mailbox, key = queue.Queue(), json.dumps(message["id"])
        with server.lock:
            server.waiting[key] = mailbox
            server.streams.append(mailbox)
        server.send(body)
        try:
            self.stream(session, mailbox, message["id"])
        except (queue.Empty, OSError):
            self.close_connection = True
        finally:
            with server.lock:
                server.streams.remove(mailbox)
                server.waiting.pop(key, None)

    def do_GET(self):
        session, server = child(self.headers.get("Mcp-Session-Id"), None)
        if not session or server is None:
            return self.plain(405)
        mailbox = queue.Queue()
        with server.lock:
            server.streams.insert(0, mailbox)
        try:
            self.stream(None, mailbox, None)
        except (queue.Empty, OSError):
            self.close_connection = True
        finally:
            with server.lock:
                server.streams.remove(mailbox)

    def do_DELETE(self):
        server = SESSIONS.pop(self.headers.get("Mcp-Session-Id"), None)
        if server:
            server.end()
        self.plain(200 if server else 404)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that goes away in the middle is the client's affair."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", PORT), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
