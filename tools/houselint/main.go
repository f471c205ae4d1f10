// Command houselint is the linter: go vet's analyzers, staticcheck's and the house rules, in one
// pass over a package that is parsed and typed once. The go command runs it, and caches what it
// finds:
//
//	go vet -vettool=bin/houselint ./...
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/netwright/netwright/tools/house"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-flags" {
		fmt.Println(flags)
		return
	}
	all := slices.Concat(vetted, staticchecks(), house.Rules)
	if onlyFacts(os.Args[len(os.Args)-1]) {
		all = slices.DeleteFunc(needed(all), func(a *analysis.Analyzer) bool { return len(a.FactTypes) == 0 })
	}
	unitchecker.Main(all...)
}

// flags are what the go command may hand on. unitchecker has -tags, too, and heeds it not; but with
// it go computes the facts of each package anew, though only files of the tag differ.
const flags = `[{"Name": "json", "Bool": true, "Usage": "print findings as JSON"}]`

// onlyFacts says that a package is another module's: nobody asks for what is wrong in it, but for
// what follows from it for the packages that import it. The last argument is the file in which the
// go command says so.
func onlyFacts(path string) bool {
	var unit struct{ VetxOnly bool }
	data, err := os.ReadFile(path)
	return strings.HasSuffix(path, ".cfg") && err == nil && json.Unmarshal(data, &unit) == nil && unit.VetxOnly
}

// needed are analyzers and all that they need. What only finds faults is a hundred of them, and
// unitchecker would run these on packages of which only facts are asked.
func needed(analyzers []*analysis.Analyzer) []*analysis.Analyzer {
	var all []*analysis.Analyzer
	var add func([]*analysis.Analyzer)
	add = func(some []*analysis.Analyzer) {
		for _, a := range some {
			if !slices.Contains(all, a) {
				all = append(all, a)
				add(a.Requires)
			}
		}
	}
	add(analyzers)
	return all
}
