"""From the name of a module to the file it means, as the project's own programs would import it."""

from __future__ import annotations

import os
import sys

_ANCESTORS = 3  #: folders above a file, or above its package, where its imports are looked for
_TOP = frozenset((".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg"))  #: ends a project
_INSTALLED = frozenset(("site-packages", "dist-packages"))
NEVER = frozenset(("torch", "numpy", "builtins", "sys"))  #: known by table, whatever lies beside
_ELSEWHERE = frozenset(sys.stdlib_module_names) | frozenset(
    """
    torch numpy scipy pandas sklearn matplotlib torchvision torchtext torchaudio gym gymnasium
    PIL accelerate cv2 datasets diffusers einops fire jax lightning networkx pytest
    pytorch_lightning ray requests skimage tensorboard tensorboardX tensorflow timm tokenizers
    torchmetrics tqdm transformers wandb yaml
    """.split()
)


class Resolver:
    """Module names to paths. Folders are listed once: make a new one when files come or go."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}
        self._places: dict[str, tuple[str, list[str]]] = {}

    def relative(self, module: str, folder: str) -> str | None:
        """The file (or folder without `__init__.py`) of ".a.b" as imported in `folder`."""
        name = module.lstrip(".")
        for _ in range(len(module) - len(name) - 1):
            folder = os.path.dirname(folder)
        return self.at(os.path.join(folder, *name.split("."))) if name else self.at(folder)

    def absolute(self, module: str, folder: str, extra: tuple[str, ...] = ()) -> str | None:
        """The same for "a.b"; None for other packages. extra: further folders of sys.path."""
        parts = module.split(".")
        top = parts[0]
        package, places = self._search_path(folder)
        if top in _ELSEWHERE:
            # a package knows itself by its own name; a script's folder comes before all others
            if top in NEVER or (top != package and (package or not self._beside(top, folder))):
                return None
            places = places[:1]
        elif extra:
            places = [places[0], *extra, *places[1:]]
        bare = None  #: a folder without `__init__.py`: any file on the way comes before it
        for place in places:
            if os.path.basename(place) in _INSTALLED and top != package:
                continue
            names = self.names(place)
            if top in names or top + ".py" in names:
                found = self.at(os.path.join(place, *parts))
                if found is not None and found.endswith(".py"):
                    return found
                bare = bare or found
        return bare

    def at(self, base: str) -> str | None:
        """The file of a module whose path without suffix is `base`; a folder without init last."""
        folder, name = os.path.split(base)
        names = self.names(folder)
        if name in names and "__init__.py" in self.names(base):
            return os.path.join(base, "__init__.py")
        if name + ".py" in names:
            return base + ".py"
        return base if name in names and os.path.isdir(base) else None

    def names(self, folder: str) -> frozenset[str]:
        """What lies in a folder; nothing in what is none."""
        found = self._names.get(folder)
        if found is None:
            try:
                found = frozenset(os.listdir(folder))
            except (OSError, ValueError):
                found = frozenset()
            self._names[folder] = found
        return found

    def _beside(self, top: str, folder: str) -> bool:
        names = self.names(folder)
        inside = self.names(os.path.join(folder, top)) if top in names else ()
        return top + ".py" in names or "__init__.py" in inside

    def _search_path(self, folder: str) -> tuple[str, list[str]]:
        """The package that a folder is part of ("" for none), and where absolute names are sought.

        A file in a package is imported from the folder above its package; a script's own folder
        comes first. Then the folders above, up to the top of the project, each with its `src`.
        """
        known = self._places.get(folder)
        if known is not None:
            return known
        root, package = folder, ""
        while "__init__.py" in self.names(root) and os.path.dirname(root) != root:
            root, package = os.path.split(root)
        places = [root] if root == folder else [root, folder]
        current = root
        for _ in range(_ANCESTORS):
            names = self.names(current)
            if "src" in names:
                places.append(os.path.join(current, "src"))
            parent = os.path.dirname(current)
            if names & _TOP or parent == current:
                break
            current = parent
            places.append(current)
        found = self._places[folder] = package, places
        return found
