# SPDX-License-Identifier: Apache-2.0
"""Ways in which people and tools change a file of the host, for suites that look whether a sandbox sees it."""
import subprocess

# Each begins with the file f, which has the line "old", and ends with "new" or without the file.
SETUP = ("printf 'old\\n' > f; rm -rf .git; git init -q -b main .; git add f; git -c user.name=a -c user.email=b commit -qm old;"
         "git checkout -q -b other; printf 'new\\n' > f; git -c user.name=a -c user.email=b commit -qam new; git checkout -q main")
WAYS = {
    "sed -i": "sed -i s/old/new/ f",
    "mv": "printf 'new\\n' > g && mv g f",
    "git checkout": "git checkout -q other",
    "an editor's save": "mv f f~ && printf 'new\\n' > f && rm f~",
    "an edit in place": "printf 'new\\n' > f",
    "rm": "rm f",
}


def shell(text, cwd):
    subprocess.run(["sh", "-ec", text], cwd=cwd, check=True)
