# SPDX-License-Identifier: Apache-2.0
# Tests of the examples: aisbx policy test --dir examples/policy
package aisbx_test

import rego.v1

import data.aisbx

start(spec) := {"action": "run", "kind": "start", "agent": "", "spec": spec}

promotion(change, hour, approvals) := {
	"action": "promote", "kind": "promote", "change": change, "time": {"hour": hour}, "approvals": approvals,
}

small := {"files": 1, "target": "/home/me/project", "consent": []}

test_network_inside if count(aisbx.deny) == 0 with input as start({"allow": ["x.corp.example:443", "packages.example:443"]})

test_network_outside if {
	aisbx.deny == {"evil.example:443 is outside the company's domains"} with input as start({"allow": ["evil.example:443"]})
}

test_network_suffix_is_no_domain if count(aisbx.deny) == 1 with input as start({"allow": ["evilcorp.example:443"]})

test_night if count(aisbx.deny) == 1 with input as promotion(small, 23, [])

test_night_with_approval if count(aisbx.deny) == 0 with input as promotion(small, 23, [{"uid": 1, "user": "a"}])

test_day if count(aisbx.deny) == 0 with input as promotion(small, 12, [])

test_production if {
	aisbx.require_approvals == 2 with input as promotion({"target": "/srv/production/shop"}, 12, [])
}

test_elsewhere if not aisbx.require_approvals with input as promotion(small, 12, [])

test_unsigned if {
	count(aisbx.deny) == 1 with input as start({"command": ["/usr/bin/python3", "a.py"], "signed_only": false})
}

test_signed if {
	count(aisbx.deny) == 0 with input as start({"command": ["/usr/bin/python3", "a.py"], "signed_only": true})
}

test_unknown_code if {
	"wasm" in aisbx.require_driver with input as {
		"kind": "start", "agent": "mcp",
		"spec": {"command": ["python3", "-c", "print()"]},
	}
}

test_large_change if {
	count(aisbx.deny) == 1 with input as promotion({"files": 101, "target": "", "consent": []}, 12, [])
}

test_gate if "diff.lines<=2000" in aisbx.require_gate with input as promotion(small, 12, [])

test_hook if {
	aisbx.deny == {".git/hooks/pre-commit: git hook"} with input as promotion(
		{"files": 1, "target": "", "consent": [{"path": ".git/hooks/pre-commit", "why": "git hook"}]},
		12, [],
	)
}

test_budget if aisbx.limits.mem == "1g" with input as {"kind": "start", "agent": "mcp"}

test_no_budget_for_people if not aisbx.limits with input as {"kind": "start", "agent": ""}

test_tool if count(aisbx.deny) == 1 with input as {"action": "mcp", "mcp": {"tool": "net_allow"}}

test_mount if {
	count(aisbx.deny) == 1 with input as start({"binds": [{"source": "/srv", "through": true}]})
}

test_weekend if count(aisbx.deny) == 1 with input as {"action": "job", "time": {"weekday": "sunday"}}
