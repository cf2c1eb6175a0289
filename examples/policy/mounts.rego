# SPDX-License-Identifier: Apache-2.0
# No directory of the host is given to a command to write to, and no job runs at weekends.
package aisbx

import rego.v1

deny contains msg if {
	some bind in input.spec.binds
	bind.through
	msg := sprintf("%s would be written to on the host", [bind.source])
}

deny contains "no jobs at weekends" if {
	input.action == "job"
	input.time.weekday in {"saturday", "sunday"}
}
