package main

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// The forms of data, as --output names them.
const (
	outText = "text"
	outJSON = "json"
	outYAML = "yaml"
)

func (f *flags) checkOutput() error {
	if all := []string{outText, outJSON, outYAML}; !slices.Contains(all, f.output) {
		return problem.Usage.Errorf("--output %q: expected one of %s", f.output, strings.Join(all, ", "))
	}
	return nil
}

// text says that a person reads what is printed.
func (f *flags) text() bool { return f.output == outText }

// data prints a value for a program: the fields are those of its JSON form, also as YAML.
func (f *flags) data(s streams, v any) error {
	f.printed = true
	if f.output == outYAML {
		return report.YAML(s.out, v)
	}
	return report.JSON(s.out, v)
}

// failed is what a program gets in place of the data of a command that failed before it had any.
type failed struct {
	Error failure `json:"error"`
}

type failure struct {
	ID      problem.ID `json:"id"`
	Message string     `json:"message"`
	Page    string     `json:"page"`
}
