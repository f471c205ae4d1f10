package extras

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/problem"
)

// sysctlTable is what `sysctl -a` lists on Linux 6.18 with the modules of networks loaded, and what
// kernels from 4.19 on had beside it: a key a line, a * for a link, "text" where a value is no list
// of whole numbers, and "none" where the kernel acts at each write and keeps no value.
//
//go:embed sysctls.txt
var sysctlTable string

// linkKeys are the directories with a directory for each link.
var linkKeys = lazyregexp.New(`^(net\.(?:ipv4|ipv6)\.(?:conf|neigh)|net\.mpls\.conf)\.[^.]+\.`)

var wholeNumbers = lazyregexp.New(`^-?(0[xX][0-9a-fA-F]+|[0-9]+)([ \t,]+-?(0[xX][0-9a-fA-F]+|[0-9]+))*$`)

// misspeltLetters is how far a name may be from a known one to be taken for a slip. What is further
// may be of another kernel.
const misspeltLetters = 2

// checkSysctl refuses a value that no kernel takes: what comes back is why the key fails on a node.
// Where documents are checked it refuses a key that is a slip of the pen, too. On a node that key
// fails by itself.
func checkSysctl(v decode.Reading, key, val string) (refused string) {
	if !v.Checks && strings.Trim(val, "0123456789 \t") == "" {
		return "" // a node with nothing to do does not search the table
	}
	plain := linkKeys().ReplaceAllString(key, "$1.*.")
	near, least := "", misspeltLetters+1
	for line := range strings.Lines(sysctlTable) {
		known, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if known == plain {
			wrong := document.Diagnostic{ID: problem.SysctlUnknown}
			switch {
			case kind == "none":
				wrong.Summary = key + " has no value that could be kept: the kernel acts at each write"
				wrong.Hint = "remove it, and write it by hand when that is needed"
			case kind == "" && !wholeNumbers().MatchString(val):
				wrong.Summary = fmt.Sprintf("%s is set to %q, and the kernel takes numbers", key, document.Clip(val))
				wrong.Expected = "a whole number, such as 1 for yes and 0 for no"
			default:
				return ""
			}
			v.Checked(wrong)
			return wrong.Summary + ": " + cmp.Or(wrong.Hint, "write "+wrong.Expected)
		}
		if !v.Checks {
			continue
		}
		if off := document.Distance(plain, known); off < least &&
			len(plain)-strings.LastIndexByte(plain, '.') > 2*misspeltLetters {
			near, least = known, off
		}
	}
	if near != "" {
		if m := linkKeys().FindString(key); m != "" {
			near = m + near[strings.LastIndexByte(near, '.')+1:]
		}
		v.Error(document.Diagnostic{ID: problem.SysctlUnknown,
			Summary: "no kernel has the parameter " + key, Hint: fmt.Sprintf("did you mean %q?", near)})
	}
	return ""
}
