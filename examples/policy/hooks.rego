# SPDX-License-Identifier: Apache-2.0
# Nothing that runs by itself, and nothing with privileges, comes out of a sandbox.
package aisbx

import rego.v1

deny contains msg if {
	some one in input.change.consent
	some word in {"hook", "setuid", "setgid", "capabilit"}
	contains(one.why, word)
	msg := sprintf("%s: %s", [one.path, one.why])
}
