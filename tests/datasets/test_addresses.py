"""Which addresses are public, over all the special ranges there are."""

import ipaddress
import random

import pytest
from each_row import each

from assay.datasets.fetch import is_public

SPECIAL = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
    "::/128", "::1/128", "::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:2::/48", "2001:10::/28",
    "2001:db8::/32", "2002::/16", "3fff::/20", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip
"""The registries of special addresses of IANA that are no servers of the public Internet."""
PUBLIC = [
    "93.184.215.14",
    "8.8.8.8",
    "1.1.1.1",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "2a00:1450:4001::200e",
]
CARRIED = ["::ffff:0:0/96", "64:ff9b::/96"]
"""Where the last 32 bits are the address that is reached."""


def some_of(network, count=200):
    rng = random.Random(network)
    net = ipaddress.ip_network(network)
    places = {0, net.num_addresses - 1} | {
        rng.randrange(net.num_addresses) for _ in range(count)
    }
    return [net.network_address + place for place in places]


@each("network", SPECIAL)
def test_no_address_of_a_special_range_is_public(network):
    assert [
        str(address) for address in some_of(network) if is_public(str(address))
    ] == []


@pytest.mark.parametrize("address", PUBLIC)
def test_servers_of_the_public_internet_are(address):
    assert is_public(address)


@each("prefix", CARRIED)
@each("network", [network for network in SPECIAL if ":" not in network])
def test_an_address_that_carries_a_private_one_is_as_private(prefix, network):
    outer = int(ipaddress.ip_network(prefix).network_address)

    carrying = [
        str(ipaddress.IPv6Address(outer + int(address)))
        for address in some_of(network, 50)
    ]

    assert [address for address in carrying if is_public(address)] == []


@pytest.mark.parametrize("prefix", CARRIED)
def test_an_address_that_carries_a_public_one_is_public(prefix):
    outer = int(ipaddress.ip_network(prefix).network_address)

    assert is_public(
        str(ipaddress.IPv6Address(outer + int(ipaddress.IPv4Address("93.184.215.14"))))
    )


@pytest.mark.parametrize(
    "address",
    [
        "::127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "::ffff:10.0.0.1",
        "2001:0:a9fe:a9fe::1",
        "fe80::1%eth0",
    ],
)
def test_the_ways_to_write_this_machine_or_its_neighbours_are_not_public(address):
    assert not is_public(address)


def test_special_addresses_known_to_python_are_not_public():
    rng = random.Random(1)
    v4 = [ipaddress.IPv4Address(rng.getrandbits(32)) for _ in range(20_000)]
    v6 = [ipaddress.IPv6Address(rng.getrandbits(128)) for _ in range(20_000)]

    assert not [
        address
        for address in (*v4, *v6)
        if is_public(str(address)) and not address.is_global
    ]
