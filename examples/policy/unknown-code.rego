# SPDX-License-Identifier: Apache-2.0
# Code that an agent wrote a moment ago runs as WebAssembly.
package aisbx

import rego.v1

require_driver contains "wasm" if {
	input.kind == "start"
	input.agent != ""
	input.spec.command[0] == "python3"
	input.spec.command[1] == "-c"
}
