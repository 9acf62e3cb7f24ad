"""Static files under hashed names, in scripts' imports too, so that browsers may keep them."""

from whitenoise.storage import CompressedManifestStaticFilesStorage

_FILES, _PATTERNS = CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    support_js_module_import_aggregation = True
    # Without `import("…")`: our modules load nothing late, and types in their comments are written
    # like that, in circles that would never settle.
    _js_module_import_aggregation_patterns = (
        _FILES,
        tuple(pattern for pattern in _PATTERNS if r"import\(" not in pattern[0]),
    )
    max_post_process_passes = 20  # modules import modules; only a circle never settles
