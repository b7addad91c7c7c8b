"""TLS by GnuTLS, on a socket that is connected: what is written here by OpenSSL (ssl.SSLSocket) another library shall say as well.

GnuTLS is libgnutls.so.30 of Debian's gnutls-bin, called as its gnutls.h has it. A session reads and writes like a socket; it is used by one
thread. https://gnutls.org/manual/gnutls.html"""

import ctypes
import socket
import struct
import time

PATIENCE = 10  # seconds after which a test has failed
SERVER, CLIENT = 1, 2
CREDENTIALS_CERTIFICATE = 1
PEM = 1
NAME_DNS = 1
SHUT_WR = 1
AGAIN, INTERRUPTED = -28, -52

# Another group than those of which clients send a share ahead: the server asks for another hello.
ASKS_AGAIN = "NORMAL:-GROUP-ALL:+GROUP-SECP521R1"

library = None


def gnutls():
    global library  # pylint: disable=global-statement
    if not library:
        library = ctypes.CDLL("libgnutls.so.30")
        for name in ("gnutls_record_recv", "gnutls_record_send"):
            function = getattr(library, name)
            function.restype, function.argtypes = ctypes.c_ssize_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        library.gnutls_strerror.restype = ctypes.c_char_p
    return library


class Failure(ConnectionResetError):
    """What GnuTLS says of it; a code of gnutls.h."""

    def __init__(self, code):
        super().__init__(f"GnuTLS {code}: {gnutls().gnutls_strerror(code).decode()}")
        self.code = code


def check(code):
    if code < 0:
        raise Failure(code)
    return code


class Session:
    """certificate and key make a server; ca and name (None: no server_name, nothing verified) a client."""

    def __init__(self, s, certificate=None, key=None, ca=None, name=None, priority="NORMAL"):
        self.socket, self.handle, self.credentials = s, ctypes.c_void_p(), ctypes.c_void_p()
        self.name = name and name.encode() # GnuTLS keeps where it is
        s.settimeout(None)
        # Beside a test that waits in vain, not for ever.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", PATIENCE, 0))
        check(gnutls().gnutls_init(ctypes.byref(self.handle), SERVER if certificate else CLIENT))
        check(gnutls().gnutls_certificate_allocate_credentials(ctypes.byref(self.credentials)))
        if certificate:
            check(gnutls().gnutls_certificate_set_x509_key_file(self.credentials, certificate.encode(), key.encode(), PEM))
        else:
            check(gnutls().gnutls_certificate_set_x509_trust_file(self.credentials, ca.encode(), PEM))
        check(gnutls().gnutls_credentials_set(self.handle, CREDENTIALS_CERTIFICATE, self.credentials))
        check(gnutls().gnutls_priority_set_direct(self.handle, priority.encode(), None))
        if name:
            check(gnutls().gnutls_server_name_set(self.handle, NAME_DNS, self.name, ctypes.c_size_t(len(name))))
            gnutls().gnutls_session_set_verify_cert(self.handle, self.name, 0)
        gnutls().gnutls_transport_set_int2(self.handle, s.fileno(), s.fileno())
        check(self.repeat(lambda: gnutls().gnutls_handshake(self.handle)))

    @staticmethod
    def repeat(call):
        """GnuTLS says AGAIN also behind a record that held nothing for us, such as a session ticket."""
        latest = time.monotonic() + PATIENCE
        while (code := call()) in (AGAIN, INTERRUPTED):
            if time.monotonic() > latest:
                raise TimeoutError("GnuTLS waited in vain")
        return code

    def recv(self, size):
        """Nothing is an end in order, close_notify; another end is a Failure."""
        data = ctypes.create_string_buffer(size)
        n = check(self.repeat(lambda: gnutls().gnutls_record_recv(self.handle, data, size)))
        return data.raw[:n]

    def sendall(self, data):
        while data:
            piece = data[:16384]
            n = check(self.repeat(lambda piece=piece: gnutls().gnutls_record_send(self.handle, piece, len(piece))))
            data = data[n:]

    def end(self):
        """close_notify; the other direction goes on."""
        check(self.repeat(lambda: gnutls().gnutls_bye(self.handle, SHUT_WR)))

    def server_name(self):
        """What the client called us, or None."""
        name, size, kind = ctypes.create_string_buffer(256), ctypes.c_size_t(256), ctypes.c_uint()
        if gnutls().gnutls_server_name_get(self.handle, name, ctypes.byref(size), ctypes.byref(kind), 0) < 0:
            return None
        return name.value.decode()

    def detach(self):
        """The socket's descriptor, as ssl.SSLSocket.detach() gives it."""
        return self.socket.detach()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        gnutls().gnutls_deinit(self.handle)
        gnutls().gnutls_certificate_free_credentials(self.credentials)
        self.socket.close()
