"""Other sites in the same browser can neither read nor control us: host names and origins are checked."""

import urllib.error
import urllib.request

import pytest

SOCKET = '/_nicegui_ws/socket.io/?EIO=4&transport=polling'


def answer(url: str, **headers: str) -> int:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize('host', ['evil.example', 'evil.example:8080', '127.0.0.1.evil.example'])
def test_a_foreign_host_name_is_refused(server, host):
    assert answer(server.url, Host=host) == 400


def test_our_own_host_names_are_served(server):
    for name in ('localhost', '127.0.0.1'):
        assert answer(server.url, Host=f'{name}:{server.port}') == 200


def test_a_socket_from_another_origin_is_refused(server):
    assert answer(server.url + SOCKET, Origin='https://evil.example') == 400
    assert answer(server.url + SOCKET, Origin=server.url) == 200
