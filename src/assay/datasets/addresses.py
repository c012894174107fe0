"""Decide whether an IP address is public. URLs in rows may lead only to public ones unless the user allows more.

An IPv6 address may carry an IPv4 address, and some networks translate it to that one, so the inner address decides.
Obsolete ways of carrying one (6to4, Teredo, IPv4-compatible) count as not public.
"""

import ipaddress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

TRANSLATED = IPv6Network("64:ff9b::/96")
"""NAT64: how hosts with IPv6 only reach hosts with IPv4 only."""
NOT_PUBLIC = tuple(
    ip_network(name)
    for name in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
        "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "::ffff:0:0:0/96",
    )
)  # fmt: skip
"""Ranges checked in addition to Python's `ipaddress`, which differs from version to version."""


def is_public(address: str) -> bool:
    """Return True if an address, as `getaddrinfo` returns it, belongs to the public Internet."""
    return _is_public(ipaddress.ip_address(address.partition("%")[0]))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    inner = _inner_address(address)
    if inner is not None:
        return _is_public(inner)
    if any(
        address.version == network.version and address in network
        for network in NOT_PUBLIC
    ):
        return False
    return address.is_global and not address.is_multicast


def _inner_address(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped
