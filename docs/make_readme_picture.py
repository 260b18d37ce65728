"""Make the README's picture by running the README's code: ``python docs/make_readme_picture.py``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read_example() -> tuple[str, Path]:
    """The code after the README's comment that names a picture, and that picture."""
    found = re.search(r"<!-- picture: (\S+) -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    if found is None:
        msg = "README.md has no Python code after a comment <!-- picture: PATH -->."
        raise ValueError(msg)
    picture, code = found.groups()
    return code, ROOT / picture


def main() -> None:
    """Run the code and save the figure that it drew, with the code in it, so that a test can tell if it is stale."""
    import matplotlib

    matplotlib.use("Agg")
    import scanpy as sc
    from matplotlib import pyplot as plt

    sc.settings.autoshow = False
    code, picture = read_example()
    exec(code, {})
    plt.savefig(picture, dpi=90, bbox_inches="tight", metadata={"Source": code, "Software": None})
    print(f"wrote {picture.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
