# SPDX-License-Identifier: Apache-2.0
"""TAP: numbered cases, the plan at the end."""
import traceback


class Tap:
    """Counts and prints cases."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, what, detail=None):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {what}", flush=True)
        if not good and detail is not None:
            for line in str(detail)[:3000].splitlines():
                print(f"#   {line}")
        return good

    def equal(self, got, want, what):
        return self.ok(got == want, what, f"got  {got!r}\nwant {want!r}")

    def attempt(self, test, *words):
        """Runs TEST; what it stumbles over is a failed case, and the next test runs all the same."""
        try:
            test(*words)
        except Exception:  # whatever it is, it is told
            self.ok(False, f"{test.__name__} comes to its end", traceback.format_exc())

    def skip(self, what, reason):
        self.count += 1
        print(f"ok {self.count} - {what} # SKIP {reason}", flush=True)

    def done(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0
