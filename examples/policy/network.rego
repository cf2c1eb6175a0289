# SPDX-License-Identifier: Apache-2.0
# No network outside these domains, whether a command asks for it or a person allows it.
package aisbx

import rego.v1

domains := {"corp.example", "packages.example", "files.packages.example"}

host(rule) := split(trim_prefix(rule, "*."), ":")[0]

inside(rule) if host(rule) in domains

inside(rule) if {
	some domain in domains
	endswith(host(rule), concat("", [".", domain]))
}

deny contains msg if {
	some rule in input.spec.allow
	not inside(rule)
	msg := sprintf("%s is outside the company's domains", [rule])
}
