#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lists the first items of the catalogue.
echo "catalogue, version 1"
head -n 10 items.txt
