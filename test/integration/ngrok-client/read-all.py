"""Prints what the published client of ngrok's API lists, as JSON. The key is in the environment, the address is the argument."""

import json
import os
import sys

import ngrok

client = ngrok.Client(os.environ["NGROK_API_KEY"], base_url=sys.argv[1])

lists = {
    "ip_policies": client.ip_policies,
    "ip_policy_rules": client.ip_policy_rules,
    "ip_restrictions": client.ip_restrictions,
    "tcp_edges": client.edges.tcp,
    "https_edges": client.edges.https,
    "backends": client.backends.tunnel_group,
    "reserved_addrs": client.reserved_addrs,
    "reserved_domains": client.reserved_domains,
    "tls_certificates": client.tls_certificates,
    "certificate_authorities": client.certificate_authorities,
    "ssh_certificate_authorities": client.ssh_certificate_authorities,
    "ssh_host_certificates": client.ssh_host_certificates,
    "ssh_user_certificates": client.ssh_user_certificates,
    "ssh_credentials": client.ssh_credentials,
    "credentials": client.credentials,
    "event_destinations": client.event_destinations,
    "event_subscriptions": client.event_subscriptions,
}


def plain(value):
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return plain(value._props) if hasattr(value, "_props") else value


# Iterates over all pages.
print(json.dumps({name: [plain(each) for each in found.list()] for name, found in lists.items()}))
