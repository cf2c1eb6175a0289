// SPDX-License-Identifier: Apache-2.0

// Asks the Open Policy Agent what aisbx-policy is asked, in the same lines of JSON: policies and an input in, rules out.
// Policies may be left out where they are those of the line before.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// As long as aisbx-policy has is not long enough for a busy machine.
const patience = 20 * time.Second

type module struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

type set struct {
	Name    string   `json:"name"`
	Modules []module `json:"modules"`
}

type question struct {
	Mode  string `json:"mode"`
	Sets  []set  `json:"sets"`
	Input any    `json:"input"`
}

type verdict struct {
	Test   string `json:"test"`
	Passed bool   `json:"passed"`
}

type row struct {
	Name  string    `json:"name"`
	Rules any       `json:"rules,omitempty"`
	Tests []verdict `json:"tests,omitempty"`
}

type answer struct {
	Sets  []row  `json:"sets,omitempty"`
	Error string `json:"error,omitempty"`
}

// What reaches beyond the input is not there for policies of aisbx either.
func capabilities() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	kept := all.Builtins[:0]

	for _, builtin := range all.Builtins {
		switch builtin.Name {
		case "http.send", "net.lookup_ip_addr", "opa.runtime":
		default:
			kept = append(kept, builtin)
		}
	}
	all.Builtins = kept
	return all
}

func prepare(ctx context.Context, query string, modules []module) (rego.PreparedEvalQuery, error) {
	options := []func(*rego.Rego){rego.Query(query), rego.StrictBuiltinErrors(true), rego.Capabilities(capabilities())}

	for _, one := range modules {
		options = append(options, rego.Module(one.Path, one.Text))
	}
	return rego.New(options...).PrepareForEval(ctx)
}

// The value of a query that is one reference; nil where it is undefined.
func evaluate(ctx context.Context, query rego.PreparedEvalQuery, input any) (any, error) {
	results, err := query.Eval(ctx, rego.EvalInput(input))

	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0].Expressions[0].Value, nil
}

// Every rule test_ of a set, in the order in which they stand there.
func test(ctx context.Context, one set) (row, error) {
	verdicts, seen := []verdict{}, map[string]bool{}

	for _, source := range one.Modules {
		parsed, err := ast.ParseModule(source.Path, source.Text)
		if err != nil {
			return row{}, err
		}
		for _, rule := range parsed.Rules {
			name := parsed.Package.Path.String() + "." + rule.Head.Name.String()

			if !strings.HasPrefix(rule.Head.Name.String(), "test_") || seen[name] {
				continue
			}
			seen[name] = true
			query, err := prepare(ctx, name, one.Modules)
			if err != nil {
				return row{}, err
			}
			value, err := evaluate(ctx, query, map[string]any{})
			verdicts = append(verdicts, verdict{strings.TrimPrefix(name, "data."), err == nil && value == true})
		}
	}
	return row{Name: one.Name, Tests: verdicts}, nil
}

type oracle struct {
	sets    []set
	queries []rego.PreparedEvalQuery
}

func (o *oracle) load(ctx context.Context, sets []set) error {
	o.sets, o.queries = nil, nil
	for _, one := range sets {
		query, err := prepare(ctx, "data.aisbx", one.Modules)
		if err != nil {
			return err
		}
		o.queries = append(o.queries, query)
	}
	o.sets = sets
	return nil
}

func (o *oracle) decide(ctx context.Context, asked question) ([]row, error) {
	rows := []row{}

	if asked.Sets != nil {
		if err := o.load(ctx, asked.Sets); err != nil {
			return nil, err
		}
	}
	if o.sets == nil {
		return nil, errors.New("no policies came, and none are kept")
	}
	for i, query := range o.queries {
		rules, err := evaluate(ctx, query, asked.Input)
		if err == nil && rules == nil {
			err = errors.New("no rule is defined")
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{Name: o.sets[i].Name, Rules: rules})
	}
	return rows, nil
}

func (o *oracle) answer(line []byte) (said answer) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	decoder, asked := json.NewDecoder(bytes.NewReader(line)), question{}

	decoder.UseNumber()
	err := decoder.Decode(&asked)
	if err == nil && asked.Mode != "test" {
		said.Sets, err = o.decide(ctx, asked)
	}
	for i := 0; err == nil && asked.Mode == "test" && i < len(asked.Sets); i++ {
		var one row

		one, err = test(ctx, asked.Sets[i])
		said.Sets = append(said.Sets, one)
	}
	if err != nil {
		said = answer{Error: err.Error()}
	}
	return said
}

func main() {
	in, out, o := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout), oracle{}

	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if out.Encode(o.answer(line)) != nil {
			os.Exit(1)
		}
	}
}
