# SPDX-License-Identifier: Apache-2.0
"""Servers with TLS for tests: an authority of the suite's own, which this mount namespace trusts, and certificates of it."""
import os
import ssl
import subprocess

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def tool(at, *words):
    subprocess.run(["openssl", *words], cwd=at, check=True, capture_output=True)


def make_authority(at, name, subject):
    """NAME.pem and NAME.key: an authority, which nobody trusts by that."""
    tool(at, "req", "-x509", *EC, "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + subject, "-days", "30")


def make_certificate(at, name, hosts, authority="ca", days=30):
    """NAME.pem and NAME.key for these hosts; one of less than no days has expired."""
    tool(at, "req", *EC, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
    with open(f"{at}/{name}.ext", "w") as out:
        out.write("subjectAltName=" + ",".join("DNS:" + host for host in hosts) + "\n")
    tool(at, "x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key", "-CAcreateserial", "-days", str(days),
         "-extfile", name + ".ext", "-out", name + ".pem")


def certificates(home, servers):
    """Makes a certificate NAME for each of servers, a dictionary of names to the hosts it is for; where they are."""
    at = home.path + "/tls"
    os.mkdir(at)
    make_authority(at, "ca", "authority of the suite")
    for name, hosts in servers.items():
        make_certificate(at, name, hosts)
    place = os.path.realpath("/etc/ssl/certs/ca-certificates.crt")
    with open(place) as old, open(at + "/ca.pem") as own, open(at + "/all.pem", "w") as out:
        out.write(old.read() + own.read())
    os.chmod(at + "/all.pem", 0o644)
    subprocess.run(["mount", "--bind", at + "/all.pem", place], check=True)
    return at


def behind_tls(at, name, handler, protocols=()):
    """A handler for connections that speak TLS with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{at}/{name}.pem", f"{at}/{name}.key")
    if protocols:
        context.set_alpn_protocols(list(protocols))

    def serve(peer, address):
        with context.wrap_socket(peer, server_side=True) as inner:
            handler(inner, address)

    return serve
