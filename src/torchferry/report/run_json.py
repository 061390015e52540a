"""A run as JSON, for `torchferry run --format json`."""

from __future__ import annotations

import json

from torchferry.trace import Account, DeviceErrorReport


def run_json(exit_code: int, error: DeviceErrorReport | None, account: Account | None) -> str:
    """Exit code, device error and account as one JSON object."""
    data = {
        "version": 1,
        "exit_code": exit_code,
        "device_error": error.to_json() if error else None,
        "account": account.to_json() if account else None,
    }
    return json.dumps(data, indent=2)
