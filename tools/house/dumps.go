package house

import (
	"go/ast"
	"go/types"
	"strings"
)

// Dumps keeps the netlink calls that may return half an answer behind the one function that asks
// again.
var Dumps = rule("dumps", "netlink dumps only through the retrying wrapper of pkg/host", dumps)

// dumpWrapper is the function below pkg/host that a dump is an argument of.
const dumpWrapper = module + "/pkg/host/internal/sys.Dump"

func dumps(p *pass) {
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				fn := callee(p, n)
				return fn == nil || fn.FullName() != dumpWrapper // what is in its arguments is as it should be
			case *ast.Ident:
				fn, ok := p.TypesInfo.Uses[n].(*types.Func)
				if ok && fn.Pkg() != nil && fn.Pkg().Path() == "github.com/vishvananda/netlink" && strings.Contains(fn.Name(), "List") {
					p.say(n.Pos(), "netlink.%s is a raw dump: hand it to Dump of pkg/host/internal/sys; when something changes meanwhile the kernel interrupts a dump, and "+
						"what came is neither the old state nor the new: to ask again is the only remedy", fn.Name())
				}
			}
			return true
		})
	}
}
