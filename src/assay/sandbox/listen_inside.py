"""Runs on the host, in the network namespace of a container: listens on the container's loopback interface.

Arguments: the process id of the container, and the socket file to which the listening socket is passed. Imports only
the standard library.
"""

import ctypes
import os
import socket
import sys

NETWORK = 0x40000000


def main(pid: str, path: str) -> None:
    """Enter the namespace, listen on a free port, and pass the socket on."""
    libc = ctypes.CDLL(None, use_errno=True)
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as host:
        host.connect(path)
        if libc.setns(namespace, NETWORK) != 0:
            raise SystemExit(os.strerror(ctypes.get_errno()))
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        socket.send_fds(host, [b"listening"], [listening.fileno()])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
