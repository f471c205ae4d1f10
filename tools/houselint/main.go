// Command houselint checks the house rules. The go command runs it, and caches what it finds:
//
//	go vet -vettool=bin/houselint ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/netwright/netwright/tools/house"
)

func main() { unitchecker.Main(house.Rules...) }
