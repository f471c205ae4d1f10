// Package lazyregexp compiles regular expressions at their first use. A variable of a package that
// is compiled before main costs every start of the program, whichever command runs.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what compiles an expression once, when it is first called. It panics then if the
// expression is wrong; the house rule "lazyregexp" compiles each constant when the code is checked.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
