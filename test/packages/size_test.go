package packages

import (
	"os"
	"reflect"
	"testing"

	"github.com/netwright/netwright/test/program"
)

// The program is on every node's disk, in memory while it runs, and is copied for each checkpoint,
// so its size has a limit.
func TestAgentIsWithinItsBudget(t *testing.T) {
	t.Parallel()
	withinBudget(t, program.Agent(t))
}

// The linker leaves out methods that are never called, unless a function of the program finds
// methods by names that are known only at run time. Then it keeps every exported method of every
// type, which was 10 MB, and all methods of reflect.Type, which no program calls by itself.
func TestLinkerRemovesUnusedMethods(t *testing.T) {
	t.Parallel()
	kept, err := program.Functions(program.Agent(t))
	if err != nil {
		t.Fatal(err)
	}
	if !kept["main.main"] || !kept["reflect.(*rtype).Name"] {
		t.Fatalf("%d functions, without those that each program has: this test reads them wrongly", len(kept))
	}
	for method := range reflect.TypeFor[reflect.Type]().Methods() {
		if method.IsExported() && !kept["reflect.(*rtype)."+method.Name] {
			return // one is enough
		}
	}
	t.Errorf(`the linker keeps every exported method of every type, some 10 MB: a function calls reflect's Method or MethodByName with a name that only a run knows,
as text/template does (cobra's Set…Template link it). It is marked ReflectMethod, and what is left of its arrows is who needs it:

    go build -o /dev/null -ldflags=-dumpdep ./cmd/agent 2>&1 | grep ReflectMethod

text/template is linked: %v`, kept["text/template.(*state).evalField"])
}

// withinBudget checks the size of an agent, of any architecture.
func withinBudget(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the agent weighs %.2f MB, of %.1f", float64(info.Size())/1e6, program.Budget/1e6)
	if info.Size() <= program.Budget {
		return
	}
	t.Errorf(`the agent weighs %.2f MB; its budget is %.1f (test/program/budget.go). What grew:

    go list -deps ./cmd/agent                              here, and on the last commit that was within: packages that came
    go build -o bin/ ./cmd/agent && go tool nm -size -sort size bin/agent      functions and tables, the largest first
    go build -o /dev/null -ldflags=-dumpdep ./cmd/agent    who needs what: "a -> b"

If it is worth it, raise the budget in the same commit and say there why.`, float64(info.Size())/1e6, program.Budget/1e6)
}
