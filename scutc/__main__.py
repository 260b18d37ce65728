"""``python -m scutc`` is the ``scutc`` command."""

from ._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
