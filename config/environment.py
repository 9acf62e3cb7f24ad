"""Environment variables turned into checked values; a wrong one becomes a sentence that says so."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

Network = IPv4Network | IPv6Network
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def wrong(name: str, value: str, expected: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} is {value!r}, but {expected}")


class Environment:
    """Reads one variable at a time; empty counts as unset.

    Each may stand in a file that NAME_FILE names, as containers are given their secrets.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def text(self, name: str, default: str = "") -> str:
        value = self.variables.get(name, "").strip()
        file = self.variables.get(f"{name}_FILE", "").strip()
        if value and file:
            raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: keep one of them.")
        if file:
            value = _content(f"{name}_FILE", Path(file))
        return value or default

    def switch(self, name: str, default: bool) -> bool:
        value = self.text(name).lower()
        if value in ("", "1", "true", "yes", "on", "0", "false", "no", "off"):
            return value in ("1", "true", "yes", "on") if value else default
        raise wrong(name, value, "it must be 1 (on) or 0 (off).")

    def number(self, name: str, default: int, low: int, high: int) -> int:
        value = self.text(name, str(default))
        if not (value.isascii() and value.isdigit() and low <= int(value) <= high):
            raise wrong(name, value, f"it must be a whole number from {low} to {high}.")
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of the words; the first is meant when none is given."""
        value = self.text(name, choices[0])
        if value not in choices:
            raise wrong(name, value, f"it must be {' or '.join(choices)}.")
        return value

    def networks(self, name: str) -> tuple[Network, ...]:
        """Networks between commas, such as 10.1.0.0/16; one address is a network too."""
        try:
            words = self.text(name).split(",")
            return tuple(ip_network(each.strip()) for each in words if each.strip())
        except ValueError as error:
            expected = f"it must be networks between commas, like 10.1.0.0/16 ({error})."
            raise wrong(name, self.text(name), expected) from None

    def folder(self, name: str, default: Path) -> Path:
        value = self.text(name)
        return plain_folder(name, value) if value else default

    def url(self, name: str, schemes: tuple[str, ...], example: str) -> SplitResult | None:
        """The parsed URL, or None; errors do not repeat the value, which may hold a password."""
        value = self.text(name)
        if not value:
            return None
        try:
            parts = urlsplit(value)
            valid = parts.scheme in schemes and bool(parts.netloc or parts.path.strip("/"))
            _ = parts.port
        except ValueError:
            valid = False
        if not valid:
            raise ImproperlyConfigured(f"{name} is not understood; it must look like {example}.")
        return parts


def plain_folder(name: str, value: str) -> Path:
    """The absolute path of a folder that is there, or may be made."""
    try:
        path = Path(value).expanduser().absolute()
        is_file = path.exists() and not path.is_dir()
    except RuntimeError:  # of ~NAME
        raise wrong(name, value, "there is no account of that name.") from None
    except OSError as error:
        raise wrong(name, value, f"this is no path of a folder: {error.strerror}.") from None
    if is_file:
        raise wrong(name, str(path), "it must be a folder, and this is a file.")
    return path


def _content(name: str, path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise wrong(name, str(path), f"this file cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise wrong(name, str(path), "this file is no text.") from None


def make_folder(name: str, path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise wrong(name, str(path), f"this folder cannot be made: {error.strerror}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise wrong(name, str(path), "the user who starts Earnest must be able to write there.")
    return path


def kept_secret(path: Path) -> str:
    """A random key, made at the first start and kept in a file only its owner can read."""
    try:
        return _read_secret(path)
    except FileNotFoundError:
        pass
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(64))
        os.link(draft, path)  # the first of several starting processes wins
    except FileExistsError:
        pass
    except OSError as error:
        raise ImproperlyConfigured(
            f"The key file {path} cannot be written: {error.strerror}. Make space there, or set "
            "EARNEST_VAR to another folder."
        ) from None
    finally:
        draft.unlink(missing_ok=True)
    return _read_secret(path)


def full_disk(error: OSError, place: object) -> str:
    """What to do about a disk that is full or takes no files; empty for every other error."""
    if error.errno not in FULL:
        return ""
    return (
        f"{error.filename or place} cannot be written: {error.strerror}. Make space there, or set "
        "EARNEST_VAR to a folder on another disk."
    )


def _read_secret(path: Path) -> str:
    try:
        secret = path.read_text().strip()
    except PermissionError:
        raise ImproperlyConfigured(
            f"The key file {path} cannot be read by this user; start Earnest as its owner."
        ) from None
    if os.geteuid() == 0 and path.stat().st_uid != 0:
        raise ImproperlyConfigured(
            f"The key file {path} belongs to another account (uid {path.stat().st_uid}), which "
            "could not read what root writes: start Earnest and its commands as that account."
        )
    if len(secret) < 50:
        raise ImproperlyConfigured(
            f"The key file {path} is damaged (shorter than 50 characters): restore it, or delete "
            "it to get a new key, which ends all log-ins and open sessions."
        )
    return secret


SMTP = "django.core.mail.backends.smtp.EmailBackend"
PORTS = {"smtp": 587, "smtps": 465}
TIMEOUT_S = 20


def mail_server(url: SplitResult | None, sender: str) -> dict[str, Any]:
    """How Django's mail back end is opened; empty where no server is named."""
    if url is None:
        return {}
    if "@" not in sender:
        expected = "it must be the address that mails come from, like earnest@uni.example.org."
        raise wrong("EARNEST_MAIL_FROM", sender, expected)
    return {
        "backend": SMTP,
        "host": url.hostname,
        "port": url.port or PORTS[url.scheme],
        "username": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "use_ssl": url.scheme == "smtps",
        "use_tls": url.scheme == "smtp" and url.hostname not in ("127.0.0.1", "localhost"),
        "timeout": TIMEOUT_S,
    }


def media_storage(value: str, file: int, folder: int) -> dict[str, Any]:
    """The storage that MEDIA_STORE names, with the modes of its files and folders."""
    parts = urlsplit(value)
    if parts.scheme == "s3" and parts.netloc:
        options = {
            "bucket_name": parts.netloc,
            "location": parts.path.strip("/"),
            "default_acl": None,
            "file_overwrite": False,
        }
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    if (not local and "://" in value) or parts.scheme == "s3":
        expected = "it must be a folder, file:///folder or s3://bucket/prefix."
        raise wrong("MEDIA_STORE", value, expected)
    path = plain_folder("MEDIA_STORE", unquote(parts.path) if local else value)
    location = make_folder("MEDIA_STORE", path)
    backend = "django.core.files.storage.FileSystemStorage"
    modes = {"file_permissions_mode": file, "directory_permissions_mode": folder}
    return {"BACKEND": backend, "OPTIONS": {"location": str(location), **modes}}
