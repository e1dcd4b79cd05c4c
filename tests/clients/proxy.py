"""A TCP proxy with an address that stays, while the server behind it comes and goes."""

import contextlib
import socket
import threading


class Proxy:
    """Listens on a free port of this machine; each connection goes to where the server is at that moment, or is closed."""

    def __init__(self):
        self._backend = None
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, address):
        """From now on new connections go there; None: nowhere."""
        self._backend = address

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        backend = self._backend
        with contextlib.suppress(OSError), client:
            if backend is None:
                return
            host, port = backend.split(":")
            with socket.create_connection((host, int(port))) as server:
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()


def _pump(source, target):
    """Hands bytes on until there are no more, then says so."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
