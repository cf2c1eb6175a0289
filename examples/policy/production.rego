# SPDX-License-Identifier: Apache-2.0
# Production needs two people.
package aisbx

import rego.v1

require_approvals := 2 if startswith(input.change.target, "/srv/production")
