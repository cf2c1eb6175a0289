# SPDX-License-Identifier: Apache-2.0
# No promotion at night unless a second account approved it.
package aisbx

import rego.v1

at_night if input.time.hour < 7

at_night if input.time.hour >= 20

deny contains "promotions at night need an approval" if {
	input.kind == "promote"
	at_night
	count(input.approvals) == 0
}
