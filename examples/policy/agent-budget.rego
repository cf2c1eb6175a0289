# SPDX-License-Identifier: Apache-2.0
# What one command of an agent may use.
package aisbx

import rego.v1

limits := {"mem": "1g", "time": "10m", "pids": 256} if {
	input.kind == "start"
	input.agent != ""
}
