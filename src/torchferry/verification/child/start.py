"""The first lines that a child process runs: `python start.py REQUEST`.

Run by its path, so that the child needs no installed torchferry: the package that this file belongs
to is loaded from where it is, and nothing else of its folder's neighbours can be imported.
"""

import sys


def load_package() -> None:
    """Make `import torchferry` give the package that holds this file, without touching sys.path."""
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    package = Path(__file__).resolve().parents[2]
    spec = spec_from_file_location(
        "torchferry", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["torchferry"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # this folder
    load_package()
    from torchferry.verification.child.session import run_request

    run_request(sys.argv[1])
