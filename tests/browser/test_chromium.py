"""The browser that the tests use is one that runs."""

import os
import shutil

import pytest

from tests.browser import chromium


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
@pytest.mark.parametrize(
    ("script", "runs"),
    [("echo Chromium 148.0.1", True), ("echo 'Please install the snap'; exit 1", False), ("echo no version", False)],
)
def test_a_program_that_does_not_say_its_version_is_no_browser(tmp_path, monkeypatch, script, runs):
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(program))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(chromium, "_playwright_path", lambda: str(tmp_path / "absent"))
    assert chromium.find() == (str(program) if runs else None)
