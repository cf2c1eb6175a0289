# SPDX-License-Identifier: Apache-2.0
# Scripts run only with a signature that holds.
package aisbx

import rego.v1

interpreters := {"sh", "bash", "python3", "node", "perl", "ruby"}

is_script if {
	parts := split(input.spec.command[0], "/")
	parts[count(parts) - 1] in interpreters
	count(input.spec.command) > 1
	not startswith(input.spec.command[1], "-")
}

deny contains "scripts need a signature: aisbx sign, then --require-signature" if {
	input.kind == "start"
	is_script
	not input.spec.signed_only
}
