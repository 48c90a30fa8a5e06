"""`.ci/run` does not pass where the browser's tests would have been skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "run"
FAILING = "#!/bin/sh\nexit 100\n"


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose suite passes, on a machine without a browser or a way to install one."""
    for name, text in {"scripts/test.sh": "#!/bin/sh\n", "bin/apt-get": FAILING, "bin/sudo": FAILING}.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    for tool in ("bash", "sh", "dirname", "id", "env"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci")
    return tmp_path


@pytest.mark.parametrize(("without", "code", "said"), [("", 4, "ERROR: no browser"), ("1", 0, "SKIPPED, as asked")])
def test_a_browser_that_cannot_be_installed_fails_unless_waived(checkout, without, code, said):
    environment = {"PATH": str(checkout / "bin"), "SUPERJAX_CI_WITHOUT_BROWSER": without, "HOME": os.environ["HOME"]}
    done = subprocess.run([checkout / ".ci" / "run"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert said in done.stderr
