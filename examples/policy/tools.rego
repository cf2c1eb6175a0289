# SPDX-License-Identifier: Apache-2.0
# Tools that agents do not get.
package aisbx

import rego.v1

deny contains msg if {
	input.action == "mcp"
	input.mcp.tool in {"sandbox_remove", "net_allow"}
	msg := sprintf("agents do not call %s here", [input.mcp.tool])
}
