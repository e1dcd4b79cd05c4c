"""Envoy and nginx, each run with our configuration of it in which only addresses and paths are others."""

import json
import re
import socket
import subprocess
import urllib.error
import urllib.request

import yaml

from programs import DEPLOY, free_port, program, run, unprivileged, wait_for


class Envoy:
    """Envoy in front of servers at these addresses, on a port of this machine."""

    def __init__(self, folder, tls, upstreams):
        self._admin_file = folder / "admin"
        self._log = folder / "envoy.log"
        self._configuration = folder / "envoy.yaml"
        self._configuration.write_text(self.configuration(tls, upstreams))
        self._process = None

    @staticmethod
    def configuration(tls, upstreams):
        text = (DEPLOY / "proxy" / "envoy.yaml").read_text(encoding="utf-8")
        assert "/etc/envoy/tls" in text
        ours = yaml.safe_load(text.replace("/etc/envoy/tls", str(tls)))
        for listening in (ours["admin"], ours["static_resources"]["listeners"][0]):
            listening["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": 0}
        (locality,) = ours["static_resources"]["clusters"][0]["load_assignment"]["endpoints"]
        addresses = [upstream.split(":") for upstream in upstreams]
        locality["lb_endpoints"] = [
            {"endpoint": {"address": {"socket_address": {"address": host, "port_value": int(port)}}}} for host, port in addresses
        ]
        return yaml.safe_dump(ours)

    def __enter__(self):
        arguments = ["--config-path", self._configuration, "--admin-address-path", self._admin_file, "--log-level", "warning"]
        command = [program("envoy"), *arguments, "--disable-hot-restart", "--concurrency", "1"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            wait_for(lambda: self._ask("/ready") == "LIVE\n" and self.healthy(), "Envoy with a healthy server")
            (listener,) = json.loads(self._ask("/listeners?format=json"))["listener_statuses"]
        except BaseException:
            # `with` calls it only for what has been entered.
            self.__exit__()
            raise
        self.port = listener["local_address"]["socket_address"]["port_value"]
        return self

    def _ask(self, path):
        assert self._process.poll() is None, f"Envoy ended:\n{self._log.read_text()}"
        if not self._admin_file.exists():
            return None
        try:
            with urllib.request.urlopen(f"http://{self._admin_file.read_text().strip()}{path}", timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            return None

    def healthy(self):
        """How many servers pass its health checks."""
        return int(re.search(r"cluster\.mancala\.membership_healthy: (\d+)", self._ask("/stats") or "membership_healthy: 0\n")[1])

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(10)


class Nginx:
    """nginx in front of a server, on a port of this machine, as a user without rights."""

    def __init__(self, folder, tls, upstream):
        self.port = free_port()
        self._prefix = folder
        self._configuration = folder / "nginx.conf"
        for name in ("tls.crt", "tls.key"):
            (folder / name).write_bytes((tls / name).read_bytes())
            (folder / name).chmod(0o644)
        ours = (DEPLOY / "proxy" / "nginx.conf").read_text(encoding="utf-8")
        for there, here in {
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "server 127.0.0.1:50051;": f"server {upstream};",
            "/etc/nginx/tls/": f"{folder}/",
        }.items():
            assert there in ours, there
            ours = ours.replace(there, here)
        self._configuration.write_text(MAIN.format(folder=folder, ours=ours))
        self._process = None

    def _command(self, *more):
        return [*unprivileged(), program("nginx"), "-p", str(self._prefix), "-c", str(self._configuration), *more]

    def check(self):
        """`nginx -t`; what it says."""
        command, *arguments = self._command("-t")
        return run(command, *arguments)

    def __enter__(self):
        self._process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(self._listens, "nginx that listens")
        except BaseException:
            # As above.
            self.__exit__()
            raise
        return self

    def _listens(self):
        assert self._process.poll() is None, f"nginx ended: {self._process.stderr.read()}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __exit__(self, *_):
        self._process.terminate()
        self._process.communicate(timeout=10)


# What a machine's own nginx.conf has around ours.
MAIN = """
daemon off;
pid {folder}/pid;
error_log stderr warn;
worker_processes 1;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{ours}
}}
"""
