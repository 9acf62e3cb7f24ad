"""Static files under hashed names, in scripts' imports too, so that browsers may keep them."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    support_js_module_import_aggregation = True
