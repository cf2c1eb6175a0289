# SPDX-License-Identifier: Apache-2.0
# A change that nobody can review is not promoted.
package aisbx

import rego.v1

deny contains msg if {
	input.change.files > 100
	msg := sprintf("%d files are too many for one review", [input.change.files])
}

require_gate contains "diff.lines<=2000" if input.kind == "promote"
