#!/bin/sh
# Whether the application answers as it should, here.
set -eu
./app.sh | grep -q lamp
