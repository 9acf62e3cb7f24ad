"""Where clips are kept: a folder, or a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from config.environment import make_folder, wrong


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
    path = Path(unquote(parts.path) if local else value).expanduser().absolute()
    location = make_folder("MEDIA_STORE", path)
    backend = "django.core.files.storage.FileSystemStorage"
    modes = {"file_permissions_mode": file, "directory_permissions_mode": folder}
    return {"BACKEND": backend, "OPTIONS": {"location": str(location), **modes}}
