#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the application answers as it should, here.
set -eu
./app.sh | grep -q lamp
