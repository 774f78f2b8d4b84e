"""Files in S3: requests, and errors that explain what is wrong."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from engine.errors import FilesUnavailable, InvalidInput
from storage.s3.files import S3Files
from tests.support.servers.s3 import S3Server


@pytest.fixture
def files(s3: S3Server) -> S3Files:
    return S3Files(s3.bucket())


def test_a_file_is_returned_unchanged(files: S3Files, tmp_path: Path) -> None:
    long = tmp_path / 'long'
    long.write_bytes(b'0123456789abcdef' * 800_000)  # in several parts
    files.send('run/objects/ab/one', b'one')
    files.send('run/objects/ab/long', long)
    files.copy('run/objects/ab/one', 'other/objects/ab/one')
    assert b''.join(files.read('run/objects/ab/long')) == long.read_bytes()
    assert (files.size('run/objects/ab/long'), files.size('run/two')) == (12_800_000, None)
    assert sorted((name.path, name.size) for name in files.list_files('run/')) == [
        ('run/objects/ab/long', 12_800_000),
        ('run/objects/ab/one', 3),
    ]
    assert list(files.list_files('ru')) == []
    assert files.folders() == ['other', 'run']
    files.remove(['run/objects/ab/one', 'run/objects/ab/long', 'run/never'])
    assert files.folders() == ['other']
    with pytest.raises(FileNotFoundError):
        list(files.read('run/objects/ab/one'))


def test_checking_a_bucket_leaves_nothing_behind(files: S3Files, s3: S3Server) -> None:
    files.check()
    assert files.folders() == []
    assert files.name.endswith(f'/team/files at {s3.url}')


def test_a_missing_bucket_is_reported(s3: S3Server) -> None:
    with pytest.raises(FilesUnavailable, match=r'^s3://nothing-here at .*: there is no bucket of that name$'):
        S3Files('s3://nothing-here').check()
    with pytest.raises(FilesUnavailable, match='no bucket'):  # rather than a missing file
        list(S3Files('s3://nothing-here').read('run/x'))


def test_a_refused_key_is_reported(files: S3Files, s3: S3Server) -> None:
    with s3.strict(), pytest.raises(FilesUnavailable, match='it does not know the key of AWS_ACCESS_KEY_ID'):
        files.check()


def test_an_outage_of_the_server_is_survived(files: S3Files, s3: S3Server) -> None:
    files.send('run/x', b'x')
    with s3.away(), pytest.raises(FilesUnavailable, match=r'^s3://.*: it cannot be reached$'):
        files.check()
    assert b''.join(files.read('run/x')) == b'x'


def test_an_unreachable_server_is_reported(monkeypatch: pytest.MonkeyPatch, s3: S3Server) -> None:
    monkeypatch.setenv('AWS_ENDPOINT_URL', 'http://127.0.0.1:9')
    with pytest.raises(FilesUnavailable, match='it cannot be reached'):
        S3Files('s3://bucket').check()


@pytest.mark.parametrize('url', ['bucket', 's3://', 's3://UPPER/x', 'gs://bucket', '/folder'])
def test_a_url_without_a_bucket_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match='must be s3://BUCKET'):
        S3Files(url)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split('.', maxsplit=1)[0] == 'obstore':
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, '__import__', without)
    with pytest.raises(InvalidInput, match=r"pip install 'hemicycle\[s3\]'"):
        S3Files('s3://bucket')
